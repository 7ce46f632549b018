import { lstat, readlink } from "node:fs/promises";

/** Programs and what they need to start; of /etc only files that are the same on every machine, or public anyway. */
export async function systemMounts(): Promise<string[]> {
  const args = ["--ro-bind", "/usr", "/usr"];
  for (const path of ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"]) {
    const stat = await lstat(path).catch(() => undefined);
    if (stat?.isSymbolicLink()) args.push("--symlink", await readlink(path), path);
    else if (stat) args.push("--ro-bind", path, path);
  }
  for (const path of ["/nix/store", "/run/current-system/sw", ...etc.map((name) => `/etc/${name}`)]) {
    args.push("--ro-bind-try", path, path);
  }
  return args;
}

const etc = [
  ...["alternatives", "bash.bashrc", "ca-certificates", "ca-certificates.conf", "crypto-policies", "debian_version"],
  ...["fonts", "group", "hosts", "inputrc", "java", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "magic"],
  ...[
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "perl",
    "pki",
    "profile",
    "protocols",
    "python3",
    "services",
  ],
  ...["shells", "ssl", "static", "terminfo", "timezone"],
];
