import { parentPort, workerData } from "node:worker_threads";
import { Defuddle } from "defuddle/node";
import { parseHTML } from "linkedom";
import { NodeHtmlMarkdown } from "node-html-markdown";

/** Runs in a thread: a page in, its title and its words as markdown out. */
const { html, url }: { html: string; url: string } = workerData;

/** Below so many characters the article reader has found no article: a list of links, a table, a short notice. */
const thin = 300;

try {
  parentPort?.postMessage(await markdownOf(html, url));
} catch (error) {
  parentPort?.postMessage({ problem: error instanceof Error ? error.message : String(error) });
}

async function markdownOf(html: string, url: string): Promise<{ title: string; markdown: string }> {
  const { document } = parseHTML(/<html[\s>]/i.test(html) ? html : `<html><body>${html}</body></html>`);
  clean(document);
  // The whole page, before the other reader takes it apart.
  const whole = document.documentElement.outerHTML;
  // It must not fetch anything itself (useAsync).
  const page = await Defuddle(document, url, { markdown: true, useAsync: false });
  const title = page.title ?? "";
  if (page.content.trim().length >= thin) return { title, markdown: page.content.trim() };
  const all = NodeHtmlMarkdown.translate(whole).trim();
  return { title, markdown: all.length > 2 * page.content.trim().length ? all : page.content.trim() };
}

/** What is not for reading, and what a reader of the page would not see. */
function clean(document: ReturnType<typeof parseHTML>["document"]): void {
  const unseen =
    "script,style,noscript,template,svg,iframe,object,embed,canvas,link,meta[http-equiv],[hidden],[style*='display:none'],[style*='display: none'],[style*='visibility:hidden']";
  for (const element of document.querySelectorAll(unseen)) element.remove();
  for (const element of document.querySelectorAll("[href],[src]")) {
    for (const name of ["href", "src"]) {
      const target = (element.getAttribute(name) ?? "").replace(/[\s\p{Cc}]/gu, "").toLowerCase();
      if (/^(javascript|vbscript|data|blob|file):/.test(target)) element.removeAttribute(name);
    }
  }
}
