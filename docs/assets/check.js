// The page "Check your code": the finder runs in a worker, so that the page stays alive.

const box = document.querySelector(".check textarea");
const said = document.querySelector(".check [role=status]");
const list = document.querySelector(".check ol");
let finder, waiting;

// Texts come from the reader's file, so they are never taken for HTML.
const element = (name, text = "", attributes = {}) => {
  const made = Object.assign(document.createElement(name), attributes);
  // What stands between backticks is code.
  text.split("`").forEach((part, place) => {
    if (place % 2) made.append(Object.assign(document.createElement("code"), { textContent: part }));
    else made.append(part);
  });
  return made;
};
const address = (page) => new URL(`../../${page}`, location).href;
const verdict = (word) => element("span", word, { className: `verdict ${word}` });

const listing = (code) => {
  const made = element("pre");
  made.replaceChildren(Object.assign(document.createElement("samp"), { textContent: code }));
  return made;
};
const HOW = { mended: "after mending what is not Python 3", words: "found by its words alone" };

const shown = (finding) => {
  const item = element("li");
  const where = element("button", `Line ${finding.line}`, { type: "button" });
  where.onclick = () => {
    const lines = box.value.split("\n");
    const start = lines.slice(0, finding.line - 1).join("\n").length + (finding.line > 1);
    box.focus();
    box.setSelectionRange(start, start + lines[finding.line - 1].length);
  };
  const facts = [finding.certainty, finding.silent && "changes without a message", HOW[finding.how]];
  item.append(where, " ", verdict(finding.verdict), ` ${facts.filter(Boolean).join(", ")}`);
  item.append(listing(finding.call));
  if (finding.replacement) item.append(element("p", "Write:"), listing(finding.replacement));
  const rows = element("ul");
  for (const argument of finding.arguments) {
    const row = element("li");
    const says = [argument.write, argument.says].filter(Boolean).join("; ");
    row.append(element("a", `\`${argument.name}\``, { href: address(argument.page) }), " ");
    row.append(verdict(argument.verdict), element("span", ` ${says}`));
    rows.append(row);
  }
  for (const note of [...finding.notes, finding.works].filter(Boolean)) rows.append(element("li", note));
  item.append(rows, element("a", "The page that shows it", { href: address(finding.page) }));
  return item;
};

const answer = ({ data }) => {
  if (data.error) said.textContent = `The finder failed: ${data.error}. Run the file instead.`;
  if (!data.found) return;
  const found = JSON.parse(data.found);
  const silent = found.filter((finding) => finding.silent).length;
  said.textContent = found.length
    ? `${found.length} found; ${silent} of them change without a message: look at these first.`
    : "Nothing found.";
  list.replaceChildren(...found.map(shown));
};

// Loaded when somebody wants it: Python in JavaScript weighs more than the rest of the site.
const ask = async () => {
  if (!finder) {
    said.textContent = "Loading Python …";
    try {
      finder = new Worker(document.querySelector(".check").dataset.worker);
      finder.onmessage = answer;
    } catch {
      said.textContent = "A page that was opened from a folder may not start this. Run the file instead.";
    }
  }
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    said.textContent ||= "Reading …";
    finder?.postMessage(box.value);
  }, 300);
};
box.addEventListener("input", ask);
box.addEventListener("focus", ask, { once: true });
