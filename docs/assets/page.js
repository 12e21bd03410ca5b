// A link may lead to an example in another tab: turn to it.
const turn = () => document.querySelectorAll(".tabbed-block:has(:target)").forEach((block) => {
  block.closest(".tabbed-set").children[[...block.parentNode.children].indexOf(block)].checked = true;
  block.querySelector(":target").scrollIntoView();
});
window.addEventListener("hashchange", turn);
window.addEventListener("load", turn);

// The theme searches when a key is released, which neither a mouse nor every phone does when it
// pastes. It does so for each key, and a long query takes its time: so it waits for a pause.
let pause;
document.addEventListener("keyup", (event) => {
  if (event.isTrusted && event.target.matches("[data-md-component=search-query]")) event.stopPropagation();
}, true);
document$.subscribe(() => {
  const query = document.querySelector("[data-md-component=search-query]");
  query.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(() => query.dispatchEvent(new Event("keyup")), 100);
  });

  // A find's large title leads to its best part, not to the top of a long page.
  const finds = document.querySelector(".md-search-result__list");
  new MutationObserver(() => finds.querySelectorAll(".md-search-result__item").forEach((find) => {
    const links = [...find.querySelectorAll("a")];
    const score = (link) => Number(link.querySelector("[data-md-score]").dataset.mdScore);
    links[0].href = links.reduce((best, link) => (score(link) > score(best) ? link : best)).href;
  })).observe(finds, { childList: true });

  // What is typed into the box on the home page goes on in the search itself.
  const box = document.querySelector(".ask input");
  box?.addEventListener("input", () => {
    document.querySelector("#__search:not(:checked)")?.click();
    query.value = box.value;
    box.value = "";
    query.focus();
    query.dispatchEvent(new Event("keyup"));
  });

  // What opens a group of the navigation is a mark without a name, and so is the list that it opens.
  document.querySelectorAll(".md-nav__container").forEach(({ children: [link, toggle] }) => {
    Object.assign(toggle.firstElementChild, { role: "img", ariaLabel: link.textContent.trim() });
  });
});
