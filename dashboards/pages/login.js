// Posts the code: from behind the "#" of the address, which browsers never send, or from the form.

const note = document.getElementById("note");

async function logIn(code) {
  try {
    const response = await fetch("api/v1/login", {
      method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ code }),
    });
    const body = await response.json();
    if (!response.ok) throw new Error(`${body.error.cause} ${body.error.remedy}`);
    location.replace("studies");
  } catch (error) {
    note.className = "note bad";
    note.textContent = error.message;
  }
}

document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
document.getElementById("form").addEventListener("submit", (event) => {
  event.preventDefault();
  logIn(document.getElementById("code").value);
});
const given = location.hash.slice(1);
if (given) {
  history.replaceState(null, "", location.pathname);
  logIn(given);
}
