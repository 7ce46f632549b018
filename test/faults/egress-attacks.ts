import type { Socket } from "node:net";

/** What a hostile server answers. A text is sent as it is, and the connection is ended. */
export interface Attack {
  name: string;
  answer: string | ((upstream: Socket) => void);
}

const OK = "HTTP/1.1 200 OK\r\n";
const length = (count: number | string) => `Content-Length: ${count}\r\n`;
const withHeader = (line: string, body = "hello") => `${OK}${length(5)}${line}\r\n\r\n${body}`;
const chunked = (body: string) => `${OK}Transfer-Encoding: chunked\r\n\r\n${body}`;

/** Writes until the other side closes the connection, or a megabyte is out. */
const flood = (piece: string, first = "") => {
  return (upstream: Socket) => {
    upstream.write(first);
    let sent = 0;
    const write = () => {
      while (!upstream.destroyed && sent < MOST) {
        sent += piece.length;
        if (!upstream.write(piece)) return void upstream.once("drain", write);
      }
      upstream.end();
    };
    write();
  };
};
const MOST = 1024 * 1024;

const statuses = ["0", "00", "000", "001", "007", "099", "99", "100", "101", "102", "103", "199", "600", "999", "1000"];
const oddStatuses = ["-1", "2 00", "2OO", "", "20", "200200200200", "4294967496", "0x200", "+200"];

const WHOLE = `${OK}${length(5)}\r\nhello`;

export const ATTACKS: readonly Attack[] = [
  ...[...statuses, ...oddStatuses].map((status) => ({
    name: `status "${status}"`,
    answer: `HTTP/1.1 ${status} What\r\n${length(5)}\r\nhello`,
  })),
  ...Array.from({ length: WHOLE.length }, (_, at) => ({
    name: `closed after ${at} bytes`,
    answer: WHOLE.slice(0, at),
  })),
  { name: "Trailer with a length", answer: withHeader("Trailer: Expires") },
  { name: "Trailer of many names", answer: withHeader(`Trailer: ${"a,".repeat(1000)}b`) },
  {
    name: "Trailer, chunked, with trailers",
    answer: `${OK}Trailer: A\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n`,
  },
  { name: "trailers with control bytes", answer: chunked("0\r\nA: \u0001\r\n\r\n") },
  { name: "a chunk of a bad size", answer: chunked("xyz\r\nhello\r\n0\r\n\r\n") },
  { name: "a chunk of a negative size", answer: chunked("-5\r\nhello\r\n0\r\n\r\n") },
  { name: "a chunk beyond 2^64", answer: chunked("ffffffffffffffffff\r\nhello\r\n0\r\n\r\n") },
  { name: "a chunk that is shorter than it says", answer: chunked("ff\r\nhello") },
  { name: "a chunk without its line break", answer: chunked("5\r\nhello0\r\n\r\n") },
  { name: "chunk extensions without end", answer: flood(";a=b", chunked("5")) },
  { name: "a chunk with long extensions", answer: chunked(`5${";a=b".repeat(10_000)}\r\nhello\r\n0\r\n\r\n`) },
  { name: "chunked twice", answer: `${OK}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n` },
  {
    name: "chunked, then identity",
    answer: `${OK}Transfer-Encoding: chunked, identity\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
  },
  { name: "an unknown transfer coding", answer: withHeader("Transfer-Encoding: cow") },
  { name: "chunked and a length", answer: withHeader("Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n") },
  { name: "chunked, obfuscated", answer: `${OK}Transfer-Encoding:\u000bchunked\r\n\r\n0\r\n\r\n` },
  { name: "the same length twice", answer: withHeader("Content-Length: 5") },
  { name: "two lengths", answer: withHeader("Content-Length: 6") },
  { name: "a list of lengths", answer: `${OK}${length("5, 5")}\r\nhello` },
  { name: "a negative length", answer: `${OK}${length(-5)}\r\nhello` },
  { name: "a length beyond 2^64", answer: `${OK}${length("99999999999999999999999")}\r\nhello` },
  { name: "a length that is not a number", answer: `${OK}${length("five")}\r\nhello` },
  { name: "more than its length", answer: withHeader("A: b", "hello and more, and more") },
  { name: "a second answer behind the first", answer: WHOLE + WHOLE },
  { name: "less than its length", answer: `${OK}${length(500)}\r\nhello` },
  { name: "a body that must not be there", answer: `HTTP/1.1 204 No Content\r\n${length(5)}\r\nhello` },
  { name: "not modified, with a body", answer: `HTTP/1.1 304 Not Modified\r\n${length(5)}\r\nhello` },
  { name: "a header with a NUL", answer: withHeader("A: b\u0000c") },
  { name: "a header with control bytes", answer: withHeader("A: \u0001\u0002\u007f") },
  { name: "a header of high bytes", answer: withHeader("A: \u00ff\u00fe\u0080") },
  { name: "a header without a name", answer: withHeader(": b") },
  { name: "a header without a colon", answer: withHeader("nothing") },
  { name: "a name with a space", answer: withHeader("A B: c") },
  { name: "a space before the colon", answer: withHeader("A : c") },
  { name: "a folded header", answer: withHeader("A: b\r\n  c\r\n\td") },
  { name: "a fold before all headers", answer: `${OK} A: b\r\n${length(5)}\r\nhello` },
  { name: "a lone CR in a header", answer: withHeader("A: b\rC: d") },
  { name: "lone LFs", answer: "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello" },
  { name: "__proto__ as a header", answer: withHeader("__proto__: x\r\nconstructor: y\r\nhasOwnProperty: z") },
  { name: "10,000 headers", answer: `${OK}${"A: b\r\n".repeat(10_000)}\r\n` },
  { name: "1,900 short headers", answer: `${OK}${"a:b\r\n".repeat(1900)}\r\n` },
  { name: "a long header", answer: withHeader(`A: ${"b".repeat(100_000)}`) },
  { name: "a long name", answer: withHeader(`${"b".repeat(100_000)}: a`) },
  { name: "a long reason", answer: `HTTP/1.1 200 ${"x".repeat(100_000)}\r\n\r\n` },
  { name: "headers without end", answer: flood("A: b\r\n", OK) },
  { name: "a header without end", answer: flood("HTTP/1.1 200 OK") },
  { name: "100 Continue without end", answer: flood("HTTP/1.1 100 Continue\r\n\r\n") },
  { name: "103 Early Hints without end", answer: flood("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n") },
  { name: "100, then 200", answer: `HTTP/1.1 100 Continue\r\n\r\n${WHOLE}` },
  { name: "103, then 001", answer: "HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 001 No\r\n\r\n" },
  {
    name: "an upgrade nobody asked for",
    answer: "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\nbytes",
  },
  { name: "200 with an upgrade", answer: withHeader("Upgrade: h2c\r\nConnection: upgrade") },
  {
    name: "Connection that names everything",
    answer: withHeader("Connection: close, content-length, date, a\r\nA: b"),
  },
  { name: "keep-alive and silence", answer: (upstream) => void upstream.write(withHeader("Connection: keep-alive")) },
  { name: "a version that is not there", answer: `HTTP/9.9 200 OK\r\n${length(5)}\r\nhello` },
  { name: "HTTP/0.9", answer: "hello" },
  { name: "HTTP/2", answer: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" },
  { name: "a TLS record", answer: "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003" },
  { name: "zeros", answer: "\u0000".repeat(10_000) },
  { name: "SSH", answer: "SSH-2.0-OpenSSH_9.6\r\n" },
  { name: "a request in place of an answer", answer: "GET / HTTP/1.1\r\nHost: a\r\n\r\n" },
  {
    name: "cookies by the hundred",
    answer: withHeader(Array.from({ length: 300 }, (_, at) => `Set-Cookie: a${at}=b`).join("\r\n")),
  },
  { name: "a bad content encoding", answer: withHeader("Content-Encoding: gzip") },
  { name: "nothing, closed", answer: "" },
  { name: "a reset", answer: (upstream) => void upstream.resetAndDestroy() },
  {
    name: "a reset in the body",
    answer: (upstream) => void upstream.write(`${OK}${length(50)}\r\nhello`, () => upstream.resetAndDestroy()),
  },
];

/** What odd clients send to the proxy; `AT` stands for the address of a server that answers. */
export const REQUESTS: readonly { name: string; bytes: string }[] = [
  ...[
    "",
    ":",
    "AT:",
    ":80",
    "AT:0",
    "127.0.0.1:99999",
    "127.0.0.1:-1",
    "127.0.0.1:1e3",
    "127.0.0.1:00000000000000000080",
    "[::1]:1",
    "[::1",
    "::1:80",
    "a b:80",
    "http://AT/",
    "/",
    "*",
    "AT@evil:80",
    "localhost%00:80",
    "\u00ff\u00fe:80",
    `${"a".repeat(8000)}:80`,
    "fe80::1%lo:80",
    "0:80",
    "127.1:1",
  ].map((target) => ({
    name: `CONNECT ${JSON.stringify(target.slice(0, 40))}`,
    bytes: `CONNECT ${target} HTTP/1.1\r\nHost: x\r\n\r\n`,
  })),
  { name: "CONNECT, then nonsense", bytes: "CONNECT AT HTTP/1.1\r\n\r\n\u0000\u0001garbage\r\n\r\n" },
  { name: "CONNECT, HTTP/1.0", bytes: "CONNECT AT HTTP/1.0\r\n\r\n" },
  { name: "CONNECT with a body", bytes: "CONNECT AT HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello" },
  ...[
    "/",
    "*",
    "//AT/",
    "http:",
    "http://",
    "http:///",
    "http://AT",
    "http://user:password@AT/",
    "http://AT:99999/",
    "http://AT@evil/",
    "https://AT/",
    "ftp://AT/",
    "file:///etc/passwd",
    "HTTP://AT/",
    "http://[::1]/",
    "http://[fe80::1%25lo]/",
    "http://AT/\u00e4\u00ff",
    "http://AT/%00%0d%0aA:b",
    "http://AT/..%2f..",
    `http://AT/${"a".repeat(9000)}`,
    "http://\u00e4.test/",
    "javascript:1",
    "data:,x",
  ].map((target) => ({
    name: `GET ${JSON.stringify(target.slice(0, 40))}`,
    bytes: `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
  })),
  ...[
    "Transfer-Encoding: chunked\r\nContent-Length: 5",
    "Content-Length: 5\r\nContent-Length: 6",
    "Content-Length: -1",
    "Transfer-Encoding: cow",
    "Trailer: A",
    "Upgrade: websocket\r\nConnection: Upgrade",
    "Expect: 100-continue",
    "Expect: a miracle",
    "TE: trailers, gzip",
    "Connection: host, x\r\nX: y",
    "A: b\u0000c",
    "A: \u00ff\u0080",
    " A: b",
    "Host: y",
    "Proxy-Connection: keep-alive",
    "__proto__: x",
    "Cookie: a\r\nCookie: b",
  ].map((line) => ({
    name: `with ${JSON.stringify(line)}`,
    bytes: `POST http://AT/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${line}\r\n\r\nhello`,
  })),
  { name: "300 requests in one go", bytes: "GET http://AT/ HTTP/1.1\r\nHost: x\r\n\r\n".repeat(300) },
  { name: "an unknown method", bytes: "BREW http://AT/ HTTP/1.1\r\nHost: x\r\n\r\n" },
  { name: "an upload that stops", bytes: "POST http://AT/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\nhello" },
  {
    name: "a chunked upload that breaks",
    bytes: "POST http://AT/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nxyz\r\n",
  },
  { name: "TLS", bytes: "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003" },
  { name: "nothing", bytes: "" },
  { name: "half a line", bytes: "GET http://AT" },
  { name: "HTTP/2", bytes: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" },
];
