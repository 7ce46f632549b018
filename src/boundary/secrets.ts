import type { Config } from "../protocol/config.ts";
import type { Secret } from "./scrubber.ts";

type Environment = Readonly<Record<string, string | undefined>>;
type SecretSources = { env: Environment; config?: Pick<Config, "providers" | "channels" | "mcp_servers" | "programs"> };

/** Every secret in the environment and config.json, with the name under which a person finds it there. */
export function secretsIn({ env, config = {} }: SecretSources): Secret[] {
  const named = Object.entries(env).filter(([name, value]) => isSecretByName(name) && !isFile(value ?? ""));
  const found = [...named, ...namedIn(config).map((name) => [name, env[name]] as const)];
  return [
    ...found.flatMap(([name, value]) => (value ? withoutScheme(name, value) : [])),
    ...Object.entries(env).flatMap(([name, value]) => (value ? inAddress(name, value) : [])),
    ...headersIn("OTEL_EXPORTER_OTLP_HEADERS", env),
    ...headersIn("OTEL_EXPORTER_OTLP_TRACES_HEADERS", env),
    ...writtenIn(config),
  ];
}

function isSecretByName(name: string): boolean {
  return /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)(?:_?\d+)?$/i.test(name);
}

/** `/home/me/key.json`, as in GOOGLE_APPLICATION_CREDENTIALS: where a secret lies is not one. */
function isFile(value: string): boolean {
  return /^(?:~|\.{1,2})?\/[\w@%+./ -]+\.\w{2,5}$/.test(value.trim());
}

/** The variables that config.json says hold a secret, whatever they are called. */
function namedIn({ providers = {}, channels = {}, mcp_servers = {} }: NonNullable<SecretSources["config"]>): string[] {
  return [
    ...Object.values(providers).map(({ api_key_env }) => api_key_env),
    ...Object.values(channels).map(({ secret_env }) => secret_env),
    ...Object.values(mcp_servers).flatMap((server) => ("url" in server ? Object.values(server.headers_env ?? {}) : [])),
  ].filter((name) => name !== undefined);
}

/** Those that are written out in config.json. Of Slack and Discord the address is the secret. */
function writtenIn({ channels = {}, mcp_servers = {}, programs = {} }: NonNullable<SecretSources["config"]>): Secret[] {
  const set = [...Object.entries(mcp_servers), ...Object.entries(programs)].flatMap(([owner, entry]) =>
    Object.entries(("set" in entry ? entry.set : undefined) ?? {})
      .filter(([name]) => isSecretByName(name))
      .flatMap(([name, value]) => withoutScheme(`${owner}.set.${name}`, value)),
  );
  const said = Object.entries(channels).flatMap(([name, { secret, url, preset = "plain" }]) => [
    ...(secret ? [{ name: `channels.${name}.secret`, value: secret }] : []),
    ...(preset === "plain" ? [] : [{ name: `channels.${name}.url`, value: URL.parse(url)?.pathname ?? "" }]),
  ]);
  return [...set, ...said];
}

/** `Bearer x` is mostly repeated without its first word. */
function withoutScheme(name: string, written: string): Secret[] {
  const value = written.trim();
  const [, bare] = /^(?:Bearer|Basic|Token)\s+(\S+)$/i.exec(value) ?? [];
  return bare === undefined ? [{ name, value }] : [{ name, value: bare }];
}

/** `https://user:password@host`. */
function inAddress(name: string, value: string): Secret[] {
  if (!value.includes("@") || !value.includes("://")) return [];
  const password = URL.parse(value.trim())?.password ?? "";
  return password === ""
    ? []
    : [
        { name, value: password },
        { name, value: decoded(password) },
      ];
}

/** `name=value,name=value`, percent-encoded. */
function headersIn(name: string, env: Environment): Secret[] {
  const pairs = (env[name] ?? "").split(",").map((pair) => pair.slice(pair.indexOf("=") + 1).trim());
  return pairs.filter(Boolean).flatMap((value) => withoutScheme(name, decoded(value)));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
