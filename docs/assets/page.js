// A cell of the matrix of releases leads to a note that is folded: unfold it.
const unfold = () => {
  const note = location.hash && document.getElementById(location.hash.slice(1));
  if (note && note.tagName === "DETAILS") note.open = true;
};
window.addEventListener("hashchange", unfold);
document$.subscribe(unfold);

// The theme leaves the search dialog without a name, and makes a landmark of each copy button.
document$.subscribe(() => {
  document.querySelector(".md-search").setAttribute("aria-label", "Search");
  document.querySelectorAll(".md-code__nav").forEach((nav) => nav.setAttribute("role", "none"));
});
