import { dirname, join } from "node:path";
import { z } from "zod";
import { claimsOf, expiryOf, type LoginFormat, NO_REFRESH_TOKEN } from "./login-format.ts";

/*
 * How the programs that we know keep their logins: seen in Claude Code 2.1.325, Codex 0.166.0, Gemini CLI 0.61.0 and
 * opencode 1.18.33. What a file holds beside its login is kept as it is.
 */

const text = z.string().min(1).max(65_536);
const maybe = z.string().max(65_536).nullish();

const claudeFile = z.looseObject({
  claudeAiOauth: z
    .looseObject({
      accessToken: text,
      refreshToken: maybe,
      expiresAt: z.number().nullish(),
      scopes: z.array(z.string()).nullish(),
      subscriptionType: maybe,
      clientId: maybe,
    })
    .nullish(),
});

const CLAUDE_CLIENT = "9d1c250a-e61b-44d9-88ed-5944d1962f5e";

/** Where Claude Code stores its login on a Mac. */
export const keychainService = "Claude Code-credentials";

const claude: LoginFormat = {
  program: "claude-code",
  share: ".claude/.credentials.json",
  lock: "claude",
  signIn: ["claude", "auth", "login"],
  file: (env, home) => join(env.CLAUDE_CONFIG_DIR || join(home, ".claude"), ".credentials.json"),
  read(data) {
    const login = claudeFile.parse(data).claudeAiOauth;
    if (!login) return undefined;
    const { accessToken: access, refreshToken, expiresAt, subscriptionType, scopes, clientId } = login;
    return {
      access,
      refresh: refreshToken || null,
      expires: expiresAt ?? null,
      ...(subscriptionType && { as: `Claude ${subscriptionType}` }),
      ...(scopes?.length && { scope: scopes.join(" ") }),
      ...(clientId && { client: clientId }),
    };
  },
  request: ({ refresh, scope, client }, env) => ({
    url: "https://platform.claude.com/v1/oauth/token",
    type: "json",
    body: {
      grant_type: "refresh_token",
      refresh_token: refresh ?? "",
      client_id: client || env.CLAUDE_CODE_OAUTH_CLIENT_ID || CLAUDE_CLIENT,
      ...(scope && { scope }),
    },
  }),
  renewed(data, { access, refresh, expires, refreshExpires }) {
    const file = claudeFile.parse(data);
    const before = file.claudeAiOauth;
    const tokens = { accessToken: access, refreshToken: refresh ?? before?.refreshToken, expiresAt: expires };
    const more = refreshExpires === undefined ? {} : { refreshTokenExpiresAt: refreshExpires };
    return { ...file, claudeAiOauth: { ...before, ...tokens, ...more } };
  },
  // It reads the file again when that has changed, and does not try to renew without a refresh token.
  lent(data) {
    const { claudeAiOauth } = claudeFile.parse(data);
    if (!claudeAiOauth) return {};
    const { refreshToken: _, ...login } = claudeAiOauth;
    return { claudeAiOauth: login };
  },
  // It replaces its file, and a link with it; so it is told where the user's is. On a Mac that would name another keychain.
  own: (file) => (process.platform === "darwin" ? {} : { CLAUDE_SECURESTORAGE_CONFIG_DIR: dirname(file) }),
};

const codexFile = z.looseObject({
  OPENAI_API_KEY: maybe,
  tokens: z.looseObject({ id_token: maybe, access_token: text, refresh_token: maybe, account_id: maybe }).nullish(),
  last_refresh: maybe,
});

const OPENAI_TOKENS = "https://auth.openai.com/oauth/token";
const CODEX_CLIENT = "app_EMoamEEZ73f0CkXaXp7hrann";

const codex: LoginFormat = {
  program: "codex",
  share: ".codex/auth.json",
  lock: "flock",
  signIn: ["codex", "login"],
  file: (env, home) => join(env.CODEX_HOME || join(home, ".codex"), "auth.json"),
  read(data) {
    const { tokens } = codexFile.parse(data);
    if (!tokens) return undefined;
    const { email } = claimsOf(tokens.id_token ?? "");
    const as = typeof email === "string" ? { as: email } : {};
    const { access_token: access, refresh_token: refresh } = tokens;
    return { access, refresh: refresh || null, expires: expiryOf(access), ...as };
  },
  request: ({ refresh }, env) => ({
    url: env.CODEX_REFRESH_TOKEN_URL_OVERRIDE || OPENAI_TOKENS,
    type: "json",
    body: { client_id: CODEX_CLIENT, grant_type: "refresh_token", refresh_token: refresh ?? "" },
  }),
  renewed(data, { access, refresh, id }, now) {
    const file = codexFile.parse(data);
    const tokens = {
      ...file.tokens,
      access_token: access,
      refresh_token: refresh ?? file.tokens?.refresh_token,
      ...(id && { id_token: id }),
    };
    return { ...file, tokens, last_refresh: new Date(now).toISOString() };
  },
  // It wants a refresh token, and renews by itself shortly before the end and when it is refused.
  lent(data) {
    const file = codexFile.parse(data);
    return { ...file, tokens: file.tokens && { ...file.tokens, refresh_token: NO_REFRESH_TOKEN } };
  },
  answer(data) {
    const { id_token, access_token } = codexFile.parse(data).tokens ?? {};
    return { id_token, access_token, refresh_token: NO_REFRESH_TOKEN };
  },
  variables: ({ url }) => ({ CODEX_REFRESH_TOKEN_URL_OVERRIDE: url }),
  // It writes its file and locks through links.
  lockFile: "auth.lock",
};

const geminiFile = z.looseObject({
  access_token: text,
  refresh_token: maybe,
  expiry_date: z.number().nullish(),
  id_token: maybe,
});

/** Of an application that is installed: Google publishes both, and neither is a secret. */
const GEMINI_CLIENT = "681255809395-oo8ft2oprdrnp9e3aqf6av3hmdib135j.apps.googleusercontent.com";
const GEMINI_CLIENT_SECRET = ["GOCSPX", "4uHgMPm-1o7Sk-geV6Cu5clXFsxl"].join("-");
const GOOGLE_TOKENS = "https://oauth2.googleapis.com/token";

const gemini: LoginFormat = {
  program: "gemini",
  share: ".gemini/oauth_creds.json",
  lock: "ours",
  signIn: ["gemini"],
  file: (env, home) => join(env.GEMINI_CLI_HOME || home, ".gemini", "oauth_creds.json"),
  read(data) {
    const { access_token: access, refresh_token, expiry_date, id_token } = geminiFile.parse(data);
    const { email } = claimsOf(id_token ?? "");
    const as = typeof email === "string" ? { as: email } : {};
    return { access, refresh: refresh_token || null, expires: expiry_date ?? null, ...as };
  },
  request: ({ refresh }) => ({
    url: GOOGLE_TOKENS,
    type: "form",
    body: {
      client_id: GEMINI_CLIENT,
      client_secret: GEMINI_CLIENT_SECRET,
      grant_type: "refresh_token",
      refresh_token: refresh ?? "",
    },
  }),
  renewed(data, { access, refresh, expires, id }) {
    const file = geminiFile.parse(data);
    const next = { ...file, access_token: access, expiry_date: expires, ...(id && { id_token: id }) };
    return refresh === null ? next : { ...next, refresh_token: refresh };
  },
  // It holds its login in memory, and has no variable for where it renews. But it takes credentials of other kinds from
  // the same file, and of this one Google's library asks the address that it names.
  lent: (_, { url }) => ({
    type: "external_account_authorized_user",
    audience: "//iam.googleapis.com/locations/global/workforcePools/agiraph/providers/agiraph",
    client_id: GEMINI_CLIENT,
    client_secret: NO_REFRESH_TOKEN,
    refresh_token: NO_REFRESH_TOKEN,
    token_url: url,
    token_info_url: url,
  }),
  answer(data, now) {
    const { access_token, expiry_date } = geminiFile.parse(data);
    const left = Math.floor(((expiry_date ?? now + 60_000) - now) / 1000);
    return { access_token, token_type: "Bearer", expires_in: Math.max(1, left) };
  },
};

const opencodeLogin = z.looseObject({ type: z.literal("oauth"), access: text, refresh: text, expires: z.number() });
const opencodeFile = z.record(z.string(), z.looseObject({ type: z.string() }));

/** Of what opencode signs in to, these rotate their refresh tokens; the others are lent as they are. */
const OPENCODE_VENDORS: Readonly<Record<string, Pick<LoginFormat, "request">>> = {
  openai: { request: (login, env) => codex.request(login, env) },
  anthropic: { request: (login, env) => claude.request(login, env) },
};

const opencode: LoginFormat = {
  program: "opencode",
  share: ".local/share/opencode/auth.json",
  lock: "ours",
  signIn: ["opencode", "auth", "login"],
  file: (env, home) => join(env.XDG_DATA_HOME || join(home, ".local/share"), "opencode", "auth.json"),
  read(data) {
    const [vendor, login] = renewableIn(data);
    return login && { access: login.access, refresh: login.refresh, expires: login.expires, as: vendor };
  },
  request: (login, env) => OPENCODE_VENDORS[login.as ?? ""]?.request(login, env),
  renewed(data, { access, refresh, expires }) {
    const [vendor, login] = renewableIn(data);
    if (!login) return data;
    return {
      ...opencodeFile.parse(data),
      [vendor]: { ...login, access, refresh: refresh ?? login.refresh, expires: expires ?? 0 },
    };
  },
  // It reads the file at every request.
  lent: (data, _, keys) =>
    Object.fromEntries(
      Object.entries(opencodeFile.parse(data))
        .filter(([vendor]) => !keys.includes(`${vendor === "google" ? "GEMINI" : vendor.toUpperCase()}_API_KEY`))
        .map(([vendor, entry]) => {
          const isOurs = entry.type === "oauth" && Object.hasOwn(OPENCODE_VENDORS, vendor);
          return [vendor, isOurs ? { ...entry, refresh: NO_REFRESH_TOKEN } : entry];
        }),
    ),
};

/** The one that ends first. */
function renewableIn(data: unknown): [string, z.infer<typeof opencodeLogin> | undefined] {
  const found = Object.entries(opencodeFile.parse(data)).flatMap(([vendor, entry]) => {
    const login = Object.hasOwn(OPENCODE_VENDORS, vendor) ? opencodeLogin.safeParse(entry).data : undefined;
    return login ? [[vendor, login] as const] : [];
  });
  const [first] = found.sort(([, a], [, b]) => a.expires - b.expires);
  return first ? [...first] : ["", undefined];
}

export const LOGIN_FORMATS: readonly LoginFormat[] = [claude, codex, gemini, opencode];

export const loginFormatOf = (share: string): LoginFormat | undefined =>
  LOGIN_FORMATS.find((each) => each.share === share);

/** Variables with which a program that runs with the user's rights uses the user's own login and its lock. */
export function ownLoginVariables(
  share: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  home: string,
): Record<string, string> {
  const formats = share.flatMap((path) => loginFormatOf(path) ?? []);
  return Object.assign({}, ...formats.map((format) => format.own?.(format.file(env, home)) ?? {}));
}
