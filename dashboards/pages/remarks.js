// Notes and tags: what people write on a study or a trial. They are shown as text and never read as anything else.

import { el, fill, path, post, toast } from "./page.js";

const NOTE_CHARACTERS = 4000;
const TAG_CHARACTERS = 40;

/** Tags one beside the other; `remove(tag)`, when given, puts a button on each. */
export function tagList(tags, remove = null) {
  return tags.map((tag) => el("span", { class: "tag" }, tag, remove && el("button",
    { type: "button", class: "remove", "aria-label": `remove the tag ${tag}`, onclick: () => remove(tag) }, "×")));
}

/** What stands beside a name in a table: its tags, and a sign for a note. */
export function remarked(thing) {
  if (!thing.tags.length && !thing.note) return null;
  return el("div", { class: "tags" }, tagList(thing.tags),
    thing.note ? el("span", { class: "quiet", title: thing.note, role: "img", "aria-label": `note: ${thing.note}` }, "✎") : null);
}

/** The note and tags of a study or of one of its trials, and what changes them: `show(thing)` again and again. */
export class Remarks {
  constructor(study, number = null) {
    this.address = path("studies", study, "commands");
    this.about = number === null ? {} : { number };
    this.note = "";
    this.key = "";
    this.tags = el("span", { class: "tags", id: "tags" });
    this.place = el("div", { class: "note-place", id: "note" });
    const field = el("input", { id: "add-tag", maxlength: TAG_CHARACTERS, autocomplete: "off", size: 10,
      "aria-label": "Tags to add", placeholder: "add a tag" });
    const form = el("form", { class: "add-tag", onsubmit: async (event) => {
      event.preventDefault();
      const added = field.value.split(/[\s,]+/).filter((word) => word);
      if (added.length && await this.send({ verb: "tag", added })) field.value = "";
    } }, field, el("button", { type: "submit" }, "Add"));
    this.box = el("section", { class: "remarks", "aria-label": "Note and tags" }, this.tags, form, this.place);
  }

  async send(body) {
    try {
      const reply = await post(this.address, { ...body, ...this.about });
      toast(reply.effect);
      return reply.ok;
    } catch (error) { toast(error.message); return false; }
  }

  show(thing) {
    const key = JSON.stringify([thing.note, thing.tags]);
    if (key === this.key) return;
    this.key = key;
    this.note = thing.note;
    fill(this.tags, tagList(thing.tags, (tag) => this.send({ verb: "tag", removed: [tag] })));
    if (!this.place.querySelector("textarea")) this.read(); // what somebody is writing stays
  }

  read() {
    fill(this.place, this.note ? el("p", { class: "note-text" }, this.note) : null,
      el("button", { type: "button", id: "edit-note", onclick: () => this.write() }, this.note ? "Edit the note" : "Write a note"));
  }

  write() {
    const field = el("textarea", { id: "note-text", rows: 4, maxlength: NOTE_CHARACTERS, "aria-label": "Note" });
    field.value = this.note;
    const save = async () => {
      if (!await this.send({ verb: "note", text: field.value })) return;
      this.note = field.value.trim();
      this.read();
    };
    fill(this.place, field, el("div", { class: "actions" },
      el("button", { type: "button", id: "save-note", onclick: save }, "Save"),
      el("button", { type: "button", onclick: () => this.read() }, "Leave it")));
    field.focus();
  }
}
