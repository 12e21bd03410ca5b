{ // other scripts have names of their own
  // What readers paste is no query: the theme would take its hyphens and colons for operators, and
  // a misspelt name for another one. So each word is asked for exactly, the last one and names also as
  // beginnings (of numbers there would be too many), long ones with two wrong letters; Chinese,
  // which has no spaces, by pairs.
  const ask = (pasted) => {
    const words = pasted
      .replace(/\p{sc=Han}{3,}/gu, (run) => run.replace(/.(?=(.))/gu, "$&$1 "))
      .match(/\d+(\.\d+)+|[\p{L}\p{N}_]+/gu) ?? [];
    return [...new Set(words)].map((word, place, all) => [
      `${word}^9`,
      (place === all.length - 1 && !/^\d/.test(word)) || word.includes("_") ? `${word}*^3` : "",
      word.length > 7 ? `${word}~2^1` : "",
    ].join(" ")).join(" ");
  };
  const words = (text) => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  let asked = [];
  const texts = new Map(); // a find has two of its paragraphs at most
  const { addEventListener, postMessage } = Worker.prototype;
  Worker.prototype.postMessage = function (message) {
    if (message.type === 0) message.data.docs.forEach(({ location, text }) => texts.set(location, text));
    if (message.type === 2) asked = words(message.data.replace("with respect to", "by")); // too common
    postMessage.call(this, message.type === 2 ? { type: 2, data: ask(message.data) } : message);
  };

  // The engine counts words, wherever they stand, and messages are made of the same ones. So each word
  // of four or more that follow each other in a find as in what was pasted doubles its score, in a
  // title twice. An error comes first if its title has three of them. A question in Chinese raises the
  // pages in Chinese, but not above one whose tags have all of its words.
  const run = (html, least) => {
    const text = ` ${words(html.replace(/<[^>]*>|&\w+;/g, " ")).join(" ")} `;
    const longest = asked.reduce((found, _, start) => {
      let length = found;
      while (start + length < asked.length
        && text.includes(` ${asked.slice(start, start + length + 1).join(" ")} `)) length += 1;
      return length;
    }, 0);
    return longest < least ? 0 : longest;
  };
  const weigh = (find) => {
    const error = /errors\/.+#/.test(find.location);
    const title = run(find.title, error ? 3 : 4);
    const chinese = /^zh\b/.test(find.location) && asked.some((word) => /\p{sc=Han}/u.test(word));
    const first = (error && title ? 10 : 0) + (chinese ? 2 : 0);
    find.score *= 2 ** (2 * title + run(texts.get(find.location), 4) + first);
  };
  const best = (finds) => finds.sort((one, other) => other.score - one.score)[0].score;
  Worker.prototype.addEventListener = function (type, listener, ...options) {
    addEventListener.call(this, type, (event) => {
      if (event.data?.type === 3) {
        const { items } = event.data.data;
        items.flat().forEach(weigh);
        items.sort((one, other) => best(other) - best(one));
      }
      listener(event);
    }, ...options);
  };

  // The index is larger than a page: it comes when the box is used, or nothing else is to do.
  const later = new Promise((resolve) => {
    window.addEventListener("focusin", ({ target }) => {
      if (target.matches("[type=search], .md-search *")) resolve();
    });
    window.addEventListener("load", () => (window.requestIdleCallback ?? setTimeout)(resolve));
  });
  const { open, send } = XMLHttpRequest.prototype;
  XMLHttpRequest.prototype.open = function (method, url, ...rest) {
    this.waits = url.endsWith("search_index.json") ? later : null;
    open.call(this, method, url, ...rest);
  };
  XMLHttpRequest.prototype.send = function (...body) {
    if (this.waits) this.waits.then(() => send.apply(this, body));
    else send.apply(this, body);
  };
}
