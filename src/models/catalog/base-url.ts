/**
 * A base URL as people write it, with or without its version: `http://host` and `http://host/v1/` are both
 * `http://host/v1`. A path that names a version anywhere is left as it is.
 */
export function baseUrl(written: string, version: string, variable: string): string {
  const trimmed = written.trim().replace(/\/+$/, "");
  const url = URL.parse(trimmed);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new Error(`${variable} is not a web address: "${written}". Write it like https://host/${version}.`);
  }
  const named = url.pathname.split("/").some((segment) => /^v\d+((alpha|beta)\d*)?$/.test(segment));
  return named ? trimmed : `${trimmed}/${version}`;
}
