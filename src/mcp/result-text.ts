import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/client";
import { Output } from "../sandbox/process/output.ts";
import type { ToolOutput } from "../tools/tool.ts";
import { foreignText, withoutControls } from "../tools/web-foreign.ts";

/** The same limit as for the output of a command. */
const MAX_BYTES = 30_000;

/** A server's result as a model reads it: marked as text of others, and limited like that of any other tool. */
export function resultText(server: string, { content, structuredContent, isError }: CallToolResult): ToolOutput {
  const shown = content.map(blockText).filter(Boolean);
  // Who gives structure gives it as text too, or should.
  if (shown.length === 0 && structuredContent !== undefined) shown.push(JSON.stringify(structuredContent, null, 2));
  return { ok: isError !== true, content: said(server, shown.join("\n\n") || "(empty)") };
}

/** Text of a server, limited and marked. */
export function said(server: string, words: string): string {
  const output = new Output(MAX_BYTES);
  output.push(Buffer.from(withoutControls(words)));
  return foreignText(`the MCP server "${server}"`, output.text());
}

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
    case "audio":
      return `[${block.type}, ${block.mimeType}, ${sizeOf(block.data)}: not shown]`;
    case "resource_link":
      return `[link to ${block.uri}${block.mimeType ? `, ${block.mimeType}` : ""}: ${block.name}]`;
    case "resource": {
      const { resource } = block;
      const about = `${resource.uri}${resource.mimeType ? `, ${resource.mimeType}` : ""}`;
      return "text" in resource
        ? `[resource ${about}]\n${resource.text}`
        : `[resource ${about}, ${sizeOf(resource.blob)}: not shown]`;
    }
  }
}

function sizeOf(base64: string): string {
  const bytes = Math.floor((base64.replace(/=+$/, "").length * 3) / 4);
  return bytes < 1024 ? `${bytes} bytes` : `${(bytes / 1024).toFixed(1)} KiB`;
}
