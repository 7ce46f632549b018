import { lexer, type Token, type Tokens } from "marked";
import { Fragment, memo, type ReactNode } from "react";

/**
 * Markdown as elements, never as markup: whatever a model, a file or a person wrote can only become text and the few
 * elements below. An image becomes a link, so that nothing is fetched from elsewhere by being looked at.
 */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <div className="prose min-w-0 [overflow-wrap:anywhere]">{blocks(lexer(text, { gfm: true, breaks: true }))}</div>
  );
});

function blocks(tokens: readonly Token[]): ReactNode[] {
  // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no identity but their place
  return tokens.map((token, index) => <Fragment key={index}>{element(token)}</Fragment>);
}

function element(token: Token): ReactNode {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading":
      return heading(token as Tokens.Heading);
    case "paragraph":
      return <p>{inside(token)}</p>;
    case "text":
      return token.tokens ? inside(token) : plain((token as Tokens.Text).text);
    case "code":
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        <pre tabIndex={0}>
          <code>{(token as Tokens.Code).text}</code>
        </pre>
      );
    case "list":
      return list(token as Tokens.List);
    case "blockquote":
      return <blockquote>{inside(token)}</blockquote>;
    case "table":
      return table(token as Tokens.Table);
    case "hr":
      return <hr />;
    case "strong":
      return <strong>{inside(token)}</strong>;
    case "em":
      return <em>{inside(token)}</em>;
    case "del":
      return <del>{inside(token)}</del>;
    case "codespan":
      return <code>{plain((token as Tokens.Codespan).text)}</code>;
    case "escape":
      return (token as Tokens.Escape).text;
    case "br":
      return <br />;
    case "link":
      return <SafeLink href={(token as Tokens.Link).href}>{inside(token)}</SafeLink>;
    case "image": {
      const { href, text } = token as Tokens.Image;
      return <SafeLink href={href}>{`[image: ${text || href}]`}</SafeLink>;
    }
    default:
      // HTML above all: shown as it was written.
      return token.raw;
  }
}

function inside(token: Token): ReactNode {
  return "tokens" in token && token.tokens ? blocks(token.tokens) : null;
}

function heading({ depth, tokens }: Tokens.Heading): ReactNode {
  const content = blocks(tokens);
  // Below the headings of the page, whatever they are in their own text.
  if (depth === 1) return <h3>{content}</h3>;
  return depth === 2 ? <h4>{content}</h4> : <h5>{content}</h5>;
}

function list({ ordered, start, items }: Tokens.List): ReactNode {
  const rows = items.map((item, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no identity but their place
    <li key={index}>
      {item.task && (item.checked ? "☑ " : "☐ ")}
      {blocks(item.tokens.filter(({ type }) => type !== "checkbox"))}
    </li>
  ));
  return ordered ? <ol start={start === "" ? 1 : start}>{rows}</ol> : <ul>{rows}</ul>;
}

function table({ header, rows }: Tokens.Table): ReactNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <table tabIndex={0}>
      <thead>
        <tr>
          {header.map((cell, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no identity but their place
            <th key={index}>{blocks(cell.tokens)}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no identity but their place
          <tr key={at}>
            {row.map((cell, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no identity but their place
              <td key={index}>{blocks(cell.tokens)}</td>
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

/** The lexer escapes nothing, but entities that were written out are meant as their characters. */
function plain(text: string): string {
  return text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
}
