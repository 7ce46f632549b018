import type { Token, Tokens } from "marked";
import { Fragment, memo, type ReactNode, useState } from "react";
import { DEEPEST, definitionsIn, piecesOf, tokensOf } from "./chunks.ts";
import { count } from "./figures.ts";
import { visibleLines } from "./visible.ts";

/** How many pieces are shown at first, and how many more on request. */
const AT_FIRST = 3;
const MORE = 8;

/**
 * Markdown as elements, never as markup: whatever a model, a file or a person wrote can only become text and the few
 * elements below. An image becomes a link, so that nothing is fetched from elsewhere by being looked at.
 */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const [most, setMost] = useState(AT_FIRST);
  const pieces = piecesOf(text);
  const definitions = pieces.length > 1 ? definitionsIn(text) : "";
  const left = pieces.slice(most).reduce((sum, piece) => sum + piece.length, 0);
  return (
    <>
      <div className="prose min-w-0 [overflow-wrap:anywhere]">
        {pieces.slice(0, most).map((piece, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a piece has no identity but its place
          <Piece key={index} text={piece} definitions={definitions} />
        ))}
      </div>
      {left > 0 && (
        <button
          type="button"
          onClick={() => setMost(most + MORE)}
          className="mt-1 min-h-11 rounded-md px-1 text-[13px] font-semibold text-accent underline md:min-h-8"
        >
          {count(left, "more character")}: show more
        </button>
      )}
    </>
  );
});

/** By itself, so that of words that grow only the last piece is read again. */
const Piece = memo(function Piece({ text, definitions }: { text: string; definitions: string }) {
  return blocks(tokensOf(text, definitions), 0);
});

function blocks(tokens: readonly Token[], depth: number): ReactNode[] {
  // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no identity but their place
  return tokens.map((token, index) => <Fragment key={index}>{element(token, depth)}</Fragment>);
}

function element(token: Token, depth: number): ReactNode {
  // A browser draws what lies in something else by calls within calls, and these have an end.
  if (depth > DEEPEST * 2) return token.raw;
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading":
      return heading(token as Tokens.Heading, depth);
    case "paragraph":
      return <p>{inside(token, depth)}</p>;
    case "text":
      return token.tokens ? inside(token, depth) : plain((token as Tokens.Text).text);
    case "code":
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        <pre tabIndex={0}>
          <code>{visibleLines((token as Tokens.Code).text)}</code>
        </pre>
      );
    case "list":
      return list(token as Tokens.List, depth);
    case "blockquote":
      return <blockquote>{inside(token, depth)}</blockquote>;
    case "table":
      return table(token as Tokens.Table, depth);
    case "hr":
      return <hr />;
    case "strong":
      return <strong>{inside(token, depth)}</strong>;
    case "em":
      return <em>{inside(token, depth)}</em>;
    case "del":
      return <del>{inside(token, depth)}</del>;
    case "codespan":
      return <code>{visibleLines((token as Tokens.Codespan).text)}</code>;
    case "escape":
      return (token as Tokens.Escape).text;
    case "br":
      return <br />;
    case "link":
      return <SafeLink href={(token as Tokens.Link).href}>{inside(token, depth)}</SafeLink>;
    case "image": {
      const { href, text } = token as Tokens.Image;
      return <SafeLink href={href}>{`[image: ${text || href}]`}</SafeLink>;
    }
    default:
      // HTML above all: shown as it was written.
      return token.raw;
  }
}

function inside(token: Token, depth: number): ReactNode {
  return "tokens" in token && token.tokens ? blocks(token.tokens, depth + 1) : null;
}

function heading({ depth, tokens }: Tokens.Heading, within: number): ReactNode {
  const content = blocks(tokens, within + 1);
  // Below the headings of the page, whatever they are in their own text.
  if (depth === 1) return <h3>{content}</h3>;
  return depth === 2 ? <h4>{content}</h4> : <h5>{content}</h5>;
}

function list({ ordered, start, items }: Tokens.List, depth: number): ReactNode {
  const rows = items.map((item, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no identity but their place
    <li key={index}>
      {item.task && (item.checked ? "☑ " : "☐ ")}
      {blocks(
        item.tokens.filter(({ type }) => type !== "checkbox"),
        depth + 1,
      )}
    </li>
  ));
  return ordered ? <ol start={start === "" ? 1 : start}>{rows}</ol> : <ul>{rows}</ul>;
}

const ALIGN = { left: "text-left", center: "text-center", right: "text-right" };

/** Where nothing is said of it, as the direction of its words has it. */
function aligned({ align }: Tokens.TableCell): string | undefined {
  return align ? ALIGN[align] : undefined;
}

function table({ header, rows }: Tokens.Table, depth: number): ReactNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <table tabIndex={0}>
      <thead>
        <tr>
          {header.map((cell, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no identity but their place
            <th key={index} className={aligned(cell)}>
              {blocks(cell.tokens, depth + 1)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no identity but their place
          <tr key={at}>
            {row.map((cell, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no identity but their place
              <td key={index} className={aligned(cell)}>
                {blocks(cell.tokens, depth + 1)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Only addresses that a browser opens as pages; anything else is shown as its text. */
function SafeLink({ href, children }: { href: string; children: ReactNode }) {
  const url = URL.parse(href);
  const isSafe = url !== null && (url.protocol === "https:" || url.protocol === "http:" || url.protocol === "mailto:");
  if (!isSafe) return <span title={href}>{children}</span>;
  return (
    <a href={url.href} target="_blank" rel="noreferrer noopener" title={url.href}>
      {children}
    </a>
  );
}

/** The lexer knows entities by number; those by name, in a sentence, mean their characters too. */
function plain(text: string): string {
  return text.replace(ENTITY, (entity, name: string) => CHARACTERS[name] ?? entity);
}

const ENTITY = /&(lt|gt|quot|apos|amp|nbsp|ndash|mdash|hellip);/g;
const CHARACTERS: Readonly<Record<string, string>> = {
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  amp: "&",
  nbsp: "\u00a0",
  ndash: "–",
  mdash: "—",
  hellip: "…",
};
