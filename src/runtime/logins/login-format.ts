/** What a credential file says about one login. */
export interface Login {
  access: string;
  /** Null where the login cannot be renewed. */
  refresh: string | null;
  /** When the access token expires, in milliseconds; null where that is unknown. */
  expires: number | null;
  /** Whose login it is, where the file says so. */
  as?: string;
  /** What is asked for and by whom, where the file says so. */
  scope?: string;
  client?: string;
}

/** A token server's answer to a renewal. */
export interface Renewed {
  access: string;
  /** The old one goes on where the server sends none. */
  refresh: string | null;
  expires: number | null;
  refreshExpires?: number;
  id?: string;
}

/** The request that renews a login, as the program itself would send it. */
export interface TokenRequest {
  url: string;
  type: "json" | "form";
  body: Readonly<Record<string, string>>;
}

/** Where a worker's program requests a new access token: at our door, not from its vendor. */
export interface TokenEndpoint {
  url: string;
}

/** Placeholder for programs that require a refresh token: it cannot be used. */
export const NO_REFRESH_TOKEN = "kept-by-agiraph";

/** How one program stores its login in a file. */
export interface LoginFormat {
  /** The program's profile. */
  readonly program: string;
  /** As profiles name the file, below the home of the user. */
  readonly share: string;
  /** What the program itself locks while it renews; "ours" where it locks nothing. */
  readonly lock: "claude" | "flock" | "ours";
  /** How a person signs in. */
  readonly signIn: readonly [string, ...string[]];
  /** The file of the person. */
  file(env: Readonly<Record<string, string | undefined>>, home: string): string;
  /** Undefined where the file holds nothing to be renewed, such as an API key. Throws where it is not understood. */
  read(data: unknown): Login | undefined;
  request(login: Login, env: Readonly<Record<string, string | undefined>>): TokenRequest | undefined;
  /** The file's content with what the server answered; everything else in it stays. */
  renewed(data: unknown, answer: Renewed, now: number): unknown;
  /** What a worker gets: without the refresh token, and without logins of vendors for which it has a key. */
  lent(data: unknown, endpoint: TokenEndpoint, keys: readonly string[]): unknown;
  /** What the program is answered when it asks at the door. */
  answer?(data: unknown, now: number): Record<string, unknown>;
  /** Variables by which the program asks at the door. */
  variables?(endpoint: TokenEndpoint): Record<string, string>;
  /** For a program with the user's rights: the file beside the login that it locks, and variables with which it uses both. */
  readonly lockFile?: string;
  own?(file: string): Record<string, string>;
}

/** When a JSON web token expires, in milliseconds; null where it does not say. */
export function expiryOf(token: string): number | null {
  const { exp } = claimsOf(token);
  return typeof exp === "number" ? exp * 1000 : null;
}

/** Not verified: it is only displayed, and says when to renew. */
export function claimsOf(token: string): Record<string, unknown> {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
    return typeof claims === "object" && claims !== null ? (claims as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
