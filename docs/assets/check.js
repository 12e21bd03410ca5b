// The page "Check your code": the finder runs in a worker, so that the page stays alive.

const box = document.querySelector(".check textarea");
const said = document.querySelector(".check [role=status]");
const list = document.querySelector(".check ol");
const HOW = { mended: "read as Python 3, which it is not", words: "found by its words alone" };
let finder, waiting;
let asked = 0, ready = false;

// Texts come from the reader's file, so they are never taken for HTML.
const element = (name, attributes = {}, ...children) => {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children);
  return made;
};
// What stands between backticks is code.
const prose = (text) =>
  text.split("`").map((part, place) => (place % 2 ? element("code", {}, part) : part));
const listing = (...code) =>
  element("pre", { className: "highlight" }, element("samp", {}, ...code));
const patch = (hunk) =>
  hunk.split("\n").map((line) => {
    const className = { "+": "gi", "-": "gd" }[line[0]]; // as the theme colours a diff
    return className ? element("span", { className }, `${line}\n`) : `${line}\n`;
  });
const verdict = (word) => element("span", { className: `verdict ${word}` }, word);
const link = (page, ...children) =>
  element("a", { href: new URL(`../../${page}`, location).href }, ...children);
const silent = () => element("strong", {}, "changes without a message");

const select = (line) => {
  const lines = box.value.split("\n");
  const start = lines.slice(0, line - 1).join("\n").length + (line > 1);
  box.focus();
  box.setSelectionRange(start, start + lines[line - 1].length);
  box.scrollTop = (box.scrollHeight / lines.length) * (line - 3);
};

const told = (finding) => (finding.trap ? "trap" : finding.verdict);
const place = ({ cell, cell_line, line }) =>
  cell ? `Cell ${cell}, line ${cell_line}` : `Line ${line}`;
const button = (onclick, ...children) => element("button", { type: "button", onclick }, ...children);

// Those of one verdict, until its button is pressed again; what is hidden is not copied either.
const bar = element("div", { role: "group", ariaLabel: "Which findings" });
list.before(bar);
const only = (pressed) => {
  const word = pressed.ariaPressed === "true" ? "" : pressed.value;
  for (const one of bar.querySelectorAll("[value]")) one.ariaPressed = one.value === word;
  for (const row of list.children) row.hidden = word && row.dataset.verdict !== word;
};
const copied = (found) =>
  found
    .filter((_, row) => !list.children[row].hidden)
    .map((one) => [`${place(one)}: ${one.call}`, one.hunk || one.replacement || one.write])
    .map((parts) => parts.join("\n"))
    .join("\n\n");
const choices = (found) => {
  const words = found.map(told);
  const made = [...new Set(words)].map((word) => {
    const count = words.filter((one) => one === word).length;
    const one = button(({ currentTarget }) => only(currentTarget), verdict(word), ` ${count}`);
    return Object.assign(one, { value: word, ariaPressed: false });
  });
  const copy = button(async () => {
    await navigator.clipboard.writeText(copied(found));
    copy.textContent = "Copied";
  }, "Copy all");
  return [...made, ...(navigator.clipboard ? [copy] : [])]; // which only https and this machine have
};

const shown = (finding) => {
  const where = button(() => select(finding.line), place(finding));
  const word = verdict(told(finding));
  const facts = [` ${[finding.certainty, HOW[finding.how]].filter(Boolean).join(", ")}`];
  if (finding.silent) facts.push(", ", silent());
  if (finding.steps) facts.push(", other steps");

  const rows = element("ul");
  for (const { name, page, verdict: fate, write = "", says, silent: quiet } of finding.arguments) {
    const row = element("li", {}, page ? link(page, element("code", {}, name)) : name, " ");
    if (fate) row.append(verdict(fate), " ");
    row.append(...prose([write, says].filter(Boolean).join("; ")));
    if (quiet) row.append("; ", silent());
    rows.append(row);
  }
  for (const note of [...finding.notes, finding.works].filter(Boolean))
    rows.append(element("li", {}, ...prose(note)));

  const write = finding.replacement
    ? [
        element("p", {}, "Write:"),
        listing(...(finding.hunk ? patch(finding.hunk) : [finding.replacement])),
      ]
    : [element("p", {}, "Write: ", ...prose(finding.write))];
  const page = element("p", {}, link(finding.page, "The page that shows it"));
  const row = element("li", {}, where, " ", word, ...facts, listing(finding.call), ...write);
  row.dataset.verdict = told(finding);
  row.append(rows, page);
  return row;
};

const answer = ({ data }) => {
  asked -= 1;
  ready = true;
  if (asked || waiting) return; // the text has changed since
  if (data.error) return fail(`The finder failed: ${data.error.trim()}.`);
  const found = JSON.parse(data.found);
  found.sort((one, other) => other.silent - one.silent);
  const quiet = found.filter((finding) => finding.silent).length;
  const first = quiet ? ` ${quiet} of them change without a message: they come first.` : "";
  if (!box.value.trim()) said.textContent = "Ready: paste your code.";
  else said.textContent = found.length ? `${found.length} found.${first}` : "Nothing found.";
  list.replaceChildren(...found.map(shown));
  bar.replaceChildren(...(found.length > 1 ? choices(found) : []));
};

const fail = (what) => {
  said.replaceChildren(`${what} `, element("a", { href: "#all-of-your-files" }, "Run the file"), " instead.");
};

// Loaded when somebody wants it: Python in JavaScript weighs more than the rest of the site.
const start = () => {
  // There, no browser lets a worker read the files that it needs.
  if (location.protocol === "file:") {
    finder = { postMessage: () => fail("A page opened from a folder cannot start Python.") };
    return;
  }
  said.textContent = "Loading Python …";
  finder = new Worker(document.querySelector(".check").dataset.worker);
  finder.onmessage = answer;
  finder.onerror = () => fail("Python could not be loaded.");
};

const ask = ({ type }) => {
  if (!finder) start();
  else if (ready && type === "input") said.textContent = "Reading …";
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    waiting = 0;
    asked += 1;
    finder.postMessage(box.value);
  }, 300);
};
box.addEventListener("input", ask);
box.addEventListener("focus", ask, { once: true });
