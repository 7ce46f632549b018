import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

interface Tokens {
  access: string;
  refresh?: string;
  expires: number;
}

/** What the programs write into their login files, with other things of theirs beside the tokens. */
export const LOGIN_FILES = {
  claude: ({ access, refresh, expires }: Tokens) => ({
    claudeAiOauth: {
      accessToken: access,
      ...(refresh && { refreshToken: refresh }),
      expiresAt: expires,
      scopes: ["user:inference", "user:profile"],
      subscriptionType: "max",
    },
    mcpOAuth: { "server|1": { accessToken: "of another server" } },
  }),
  codex: ({ access, refresh }: Tokens) => ({
    auth_mode: "chatgpt",
    OPENAI_API_KEY: null,
    tokens: { id_token: "e30.e30.x", access_token: access, refresh_token: refresh ?? "", account_id: "account-1" },
    last_refresh: "2026-01-01T00:00:00Z",
  }),
  gemini: ({ access, refresh, expires }: Tokens) => ({
    access_token: access,
    ...(refresh && { refresh_token: refresh }),
    scope: "https://www.googleapis.com/auth/cloud-platform",
    token_type: "Bearer",
    id_token: "e30.e30.x",
    expiry_date: expires,
  }),
  opencode: ({ access, refresh, expires }: Tokens) => ({
    openai: { type: "oauth", access, refresh: refresh ?? "", expires, accountId: "account-1" },
    openrouter: { type: "api", key: "sk-or-1" },
  }),
} as const;

export const LOGIN_PATHS = {
  claude: ".claude/.credentials.json",
  codex: ".codex/auth.json",
  gemini: ".gemini/oauth_creds.json",
  opencode: ".local/share/opencode/auth.json",
} as const;

/** Signs a person in, as the program itself would; resolves with the file. */
export async function signIn(home: string, program: keyof typeof LOGIN_FILES, tokens: Tokens): Promise<string> {
  const file = join(home, LOGIN_PATHS[program]);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeFile(file, JSON.stringify(LOGIN_FILES[program](tokens)), { mode: 0o600 });
  return file;
}
