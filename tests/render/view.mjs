// Opens report views in a real browser, acts as a person, and prints what it saw as JSON. Judges nothing: test_browser.py does.
// Usage: node view.mjs FOLDER with hostile.html, small.html, large.html and webview.html
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..", "..");
const { chromium } = createRequire(path.join(ROOT, "package.json"))("playwright-core");
const [folder, executablePath] = process.argv.slice(2);
const seen = { problems: [] };

const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

/** Opens a page and notes whatever should not happen. */
async function open(name, options = {}, before) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, permissions: ["clipboard-read", "clipboard-write"], ...options });
  const page = await context.newPage();
  const note = (kind) => (what) => seen.problems.push(`${name} ${kind}: ${what}`);
  page.on("dialog", (dialog) => (note("dialog")(dialog.message()), dialog.dismiss()));
  page.on("console", (message) => note("console")(message.text()));
  page.on("pageerror", (error) => note("error")(error.message));
  page.on("request", (request) => request.url().startsWith("file:") || note("request")(request.url()));
  if (before) await page.addInitScript(before);
  await page.goto(pathToFileURL(path.join(folder, name)).href);
  await page.waitForTimeout(150);
  return page;
}

const clipboard = (page) => page.evaluate(() => navigator.clipboard.readText());
const status = async (page) => (await page.waitForTimeout(120), page.locator("#status").textContent());
const press = async (page, ...keys) => {
  for (const key of keys) await page.keyboard.press(key);
  return status(page);
};

/** The lowest contrast of any text on the page with its background, and where. */
const contrast = (page) =>
  page.evaluate(() => {
    const numbers = (colour) => (colour.match(/[\d.]+/g) ?? []).map(Number);
    const luminance = ([r, g, b]) => {
      const [x, y, z] = [r, g, b].map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    let worst = { ratio: 99, what: "" };
    for (const element of document.querySelectorAll("body *")) {
      const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
      if (!own || !element.offsetParent || element.matches("script, .unseen, option")) continue;
      let behind = element;
      while (behind && (numbers(getComputedStyle(behind).backgroundColor)[3] ?? 1) === 0) behind = behind.parentElement;
      const [a, b] = [getComputedStyle(element).color, getComputedStyle(behind ?? document.body).backgroundColor].map((c) => luminance(numbers(c)));
      const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      if (ratio < worst.ratio) worst = { ratio, what: `${element.tagName}.${element.className} ${element.textContent.slice(0, 40)}` };
    }
    return worst;
  });

/** What sticks out of the page sideways, or is cut off inside its element. */
const clipped = (page) =>
  page.evaluate(() => {
    for (const fold of document.querySelectorAll("details")) fold.open = true;
    const out = [];
    for (const element of document.querySelectorAll("body *:not(script)")) {
      if (!element.offsetParent || element.closest(".scroll, .plot, .unseen")) continue;
      const box = element.getBoundingClientRect();
      if (box.right > window.innerWidth + 1 || box.left < -1) out.push(`${element.tagName}.${element.className}`);
      else if (element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).display !== "inline" && element.clientWidth) out.push(`inside ${element.tagName}.${element.className}`);
    }
    return { wide: document.documentElement.scrollWidth, out: [...new Set(out)] };
  });

// A hostile report: nothing may run, and the buttons copy exactly what the report says.
let page = await open("hostile.html");
for (const summary of await page.locator("summary").all()) await summary.click();
await page.locator(".plot").focus();
await press(page, "i", "ArrowDown", "ArrowRight", "End");
seen.hostileTip = await page.locator(".tip").textContent();
await page.getByRole("button", { name: "Copy as Markdown" }).click();
seen.hostileMarkdown = await clipboard(page);
await page.locator(".verify [data-action=copy]").first().click();
seen.hostileCommand = await clipboard(page);
seen.images = await page.evaluate(() => document.images.length + document.querySelectorAll("svg, iframe, object, link").length);
await page.context().close();

// A plain file: open, explain and settings copy.
page = await open("small.html");
await page.locator(".evidence [data-action=open]").first().click();
seen.place = await clipboard(page);
seen.placeSaid = await status(page);
await page.locator(".related [data-action=explain]").first().click();
seen.explain = await clipboard(page);
await page.getByRole("button", { name: "Copy redacted" }).click();
seen.redacted = await clipboard(page);
await page.locator("dd a[href^='#page-']").click();
seen.pageOpen = await page.locator("details.page").evaluate((e) => e.open && e.contains(document.activeElement));
await page.locator(".plot").focus();
seen.first = await press(page, "i");
seen.next = await press(page, "ArrowDown");
await press(page, "Enter");
seen.enter = await clipboard(page);
seen.gone = await press(page, "Escape").then(() => page.locator(".tip").isHidden());
// Tab leaves the plot again.
await page.keyboard.press("Tab");
seen.left = await page.evaluate(() => !document.activeElement.closest(".plot"));
await page.context().close();

for (const colorScheme of ["light", "dark"]) {
  page = await open("small.html", { colorScheme });
  seen[`background-${colorScheme}`] = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  seen[`contrast-${colorScheme}`] = await contrast(page);
  await page.context().close();
}
for (const width of [400, 320]) {
  page = await open("small.html", { viewport: { width, height: 800 } });
  seen[`clipped-${width}`] = await clipped(page);
  await page.context().close();
}
page = await open("small.html", { forcedColors: "active" });
seen.forced = await page.evaluate(() => {
  const g = document.querySelector(".plot canvas").getContext("2d");
  return new Set(g.getImageData(0, 0, g.canvas.width, g.canvas.height).data).size;
});
await page.context().close();

// A thousand ranks.
page = await open("large.html");
const modes = page.getByLabel("Down");
await page.locator(".plot").focus();
seen.grouped = await press(page, "i", "ArrowDown");
seen.heightGrouped = await page.locator(".plot").evaluate((e) => e.clientHeight);
await press(page, " ");
seen.unfolded = await page.locator(".plot").evaluate((e) => e.scrollHeight > 20_000);
await modes.selectOption("each");
await page.locator(".plot").focus();
seen.each = await press(page, "i");
seen.eachNext = await press(page, "PageDown");
seen.frames = await page.evaluate(async () => {
  const box = document.querySelector(".plot"), times = [];
  for (let i = 0; i < 30; i++) {
    box.scrollTop = i * 700;
    const before = performance.now();
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    times.push(performance.now() - before);
  }
  return times.sort((a, b) => a - b)[15];
});
await modes.selectOption("fit");
await page.waitForTimeout(100);
seen.fit = await page.locator(".plot").evaluate((e) => e.scrollHeight <= e.clientHeight + 1);
const pixels = () => page.locator(".plot canvas").evaluate((c) => c.toDataURL().length);
const whole = await pixels();
await page.locator(".plot canvas").hover({ position: { x: 600, y: 100 } });
await page.keyboard.down("Control");
await page.mouse.wheel(0, -400);
await page.keyboard.up("Control");
await page.waitForTimeout(100);
seen.zoomed = (await pixels()) !== whole;
await page.getByRole("button", { name: "Show everything" }).click();
await page.mouse.move(0, 0);
await page.waitForTimeout(100);
seen.back = (await pixels()) === whole;
await page.context().close();

// The webview: every button sends its message.
page = await open("webview.html", {}, () => {
  window.sent = [];
  window.acquireVsCodeApi = () => ({ postMessage: (message) => window.sent.push(message) });
  // The editor sets the class and the colours of its theme; they win over the system's.
  document.addEventListener("DOMContentLoaded", () => {
    document.body.classList.add("vscode-dark");
    document.documentElement.style.setProperty("--vscode-editor-background", "rgb(1, 2, 3)");
  });
});
seen.webviewBackground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
for (const action of ["open", "copy", "run", "applyFix", "explain"]) await page.locator(`main [data-action=${action}]:visible`).first().click();
await page.locator(".plot").focus();
await press(page, "i", "Enter");
seen.sent = await page.evaluate(() => window.sent);
await page.context().close();

await browser.close();
process.stdout.write(JSON.stringify(seen));
