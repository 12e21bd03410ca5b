// A cell of the matrix of releases leads to a note that is folded: unfold it.
const unfold = () => {
  const note = location.hash && document.getElementById(location.hash.slice(1));
  if (note && note.tagName === "DETAILS") note.open = true;
};
window.addEventListener("hashchange", unfold);
document$.subscribe(unfold);

// The theme searches when a key is released, which neither a mouse nor every phone does when it
// pastes.
document$.subscribe(() => {
  const query = document.querySelector("[data-md-component=search-query]");
  query.addEventListener("input", () => query.dispatchEvent(new Event("keyup")));
});

// The theme leaves the search dialog without a name, gives two landmarks the same one, and makes
// a landmark of each copy button.
document$.subscribe(() => {
  document.querySelector(".md-path")?.setAttribute("aria-label", "Breadcrumbs");
  document.querySelector(".md-search").setAttribute("aria-label", "Search");
  document.querySelectorAll(".md-code__nav").forEach((nav) => nav.setAttribute("role", "none"));
});
