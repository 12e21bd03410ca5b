// Choosing a release shows what differs there, folded by page, and a cell of the matrix what is behind it. The
// address remembers both. The texts come as a script: a page in a folder may fetch no data.
const choice = document.querySelector("#release");
const [count, list] = document.querySelector("#differences").children;

const choose = () => {
  choice.value = location.hash.slice(1);
  count.textContent = list.innerHTML = "";
  list.style.minHeight = choice.value && "100vh"; // so that what follows does not jump
  document.querySelector(".matrix .note")?.remove();
};

const loaded = () => window.differs || new Promise((onload) => document.head.append(
  Object.assign(document.createElement("script"), { src: choice.dataset.differs, onload })));

const show = async () => {
  choose();
  const wanted = location.hash.slice(1);
  const row = document.getElementById(wanted)?.closest(".matrix tr");
  if (!row && !choice.value) return;
  await loaded();
  const found = differs.notes.filter((note) => (row ? note.anchor === wanted : note.on.includes(wanted)));
  if (row) {
    row.closest("details").open = true;
    row.insertAdjacentHTML("afterend", `<tr class="note"><td colspan="${choice.length}"><div tabindex="-1">${found.map(({ html }) => html).join("")}</div>`);
    document.querySelector(".note div").focus();
    row.scrollIntoView({ block: "center" });
  } else {
    count.textContent = differs.summaries[wanted];
    list.innerHTML = found.map(({ page, html }, place) => (found[place - 1]?.page === page ? "" : `${place ? "</details>" : ""}<details><summary>${page}: ${found.filter((one) => one.page === page).length}</summary>`) + html).join("");
  }
};

choice.addEventListener("change", () => { location.hash = choice.value; });
window.addEventListener("hashchange", show);
document.addEventListener("DOMContentLoaded", show);
choose();
