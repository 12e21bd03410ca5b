// The theme leaves the search dialog without a name, and makes a landmark of each copy button.
document$.subscribe(() => {
  document.querySelector(".md-search").setAttribute("aria-label", "Search");
  document.querySelectorAll(".md-code__nav").forEach((nav) => nav.setAttribute("role", "none"));
});
