// What the buttons do: in the editor they send messages to the host, in a plain file they copy. Knows no report and no plot.
"use strict";
const firstfault = {};

firstfault.host = typeof acquireVsCodeApi === "function" ? acquireVsCodeApi() : null;

firstfault.say = (text) => {
  const status = document.getElementById("status");
  status.textContent = "";
  setTimeout(() => (status.textContent = text), 50);
};

/** Copies a text; true when it worked. */
firstfault.copy = async (text) => {
  if (firstfault.host) {
    firstfault.host.postMessage({ type: "copy", text });
    return true;
  }
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Some browsers refuse the clipboard to files; the old way works there.
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "unseen";
    document.body.append(area);
    area.select();
    const worked = document.execCommand("copy");
    area.remove();
    return worked;
  }
};

/** Goes to a line of a log, or copies where it is. */
firstfault.open = (file, line) => {
  if (firstfault.host) firstfault.host.postMessage({ type: "open", file, line });
  else firstfault.copied(null, `${file}:${line}`);
};

firstfault.copied = async (button, text) => {
  const worked = await firstfault.copy(text);
  firstfault.say(worked ? `Copied ${text.length > 80 ? "" : text}` : "The clipboard refused the text");
  if (!button || button.dataset.busy) return;
  button.dataset.busy = "1";
  const before = [...button.childNodes];
  // The label changes and the width does not, so that nothing below the pointer moves.
  button.style.minWidth = `${button.offsetWidth}px`;
  button.replaceChildren(worked ? "Copied" : "Failed");
  setTimeout(() => {
    button.replaceChildren(...before);
    button.style.minWidth = "";
    delete button.dataset.busy;
  }, 1500);
};

firstfault.texts = () => JSON.parse(document.getElementById("texts").textContent);

/** Opens every folded part that holds an element, so that a link to it leads somewhere. */
firstfault.reveal = (element) => {
  for (let e = element; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
};

document.addEventListener("click", (event) => {
  const anchor = event.target.closest("a[href^='#']");
  if (anchor) {
    const target = document.getElementById(anchor.getAttribute("href").slice(1));
    if (!target) return;
    event.preventDefault();
    firstfault.reveal(target);
    target.scrollIntoView();
    (target.querySelector("summary") || target).focus();
    return;
  }
  const button = event.target.closest("[data-action]");
  if (!button) return;
  const { action, text, source, file, line, id, setting } = button.dataset;
  const post = (message) => firstfault.host.postMessage(message);
  if (action === "copy") firstfault.copied(button, source ? firstfault.texts()[source] : text);
  else if (action === "open" && firstfault.host) firstfault.open(file, Number(line));
  else if (action === "open") firstfault.copied(button, `${file}:${line}`);
  else if (action === "explain" && firstfault.host) post({ type: "explain", id });
  else if (action === "explain") firstfault.copied(button, `firstfault explain ${id}`);
  else if (action === "run" && firstfault.host) post({ type: "run", command: text });
  else if (action === "applyFix" && firstfault.host) post({ type: "applyFix", setting: JSON.parse(setting) });
});
