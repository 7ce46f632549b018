import type { Database } from "./database.ts";
import { EngineError } from "./engine-address.ts";

/**
 * The tables of an engine, by version. A migration is never changed once it was released: the next one is added.
 *
 * A tree is a folder of a home that moves as a whole: that of an agent, or the memory of the person. Its streams (the
 * record and the conversations) are bytes in chunks, in the order in which they were appended. All other files are
 * entries that point at content, which is stored once by its hash, in parts.
 */
const MIGRATIONS: readonly string[] = [
  `create table trees (
     tree text primary key,
     state text not null check (state in ('moving', 'ready')),
     changed timestamptz not null default now()
   );
   create table streams (
     tree text not null references trees on delete cascade,
     path text not null,
     size bigint not null check (size >= 0),
     primary key (tree, path)
   );
   create table chunks (
     tree text not null,
     path text not null,
     at bigint not null check (at >= 0),
     bytes bytea not null,
     primary key (tree, path, at),
     foreign key (tree, path) references streams on delete cascade
   );
   create table contents (
     hash bytea primary key check (length(hash) = 32),
     size bigint not null check (size >= 0),
     is_whole boolean not null default false
   );
   create table parts (
     hash bytea not null references contents on delete cascade,
     number int not null check (number >= 0),
     bytes bytea not null,
     primary key (hash, number)
   );
   create table files (
     tree text not null references trees on delete cascade,
     path text not null,
     kind text not null check (kind in ('file', 'folder', 'link')),
     mode int not null,
     hash bytea references contents,
     target text,
     primary key (tree, path)
   );
   create index files_by_hash on files (hash);`,
  `create table hosts (
     host uuid primary key,
     name text not null,
     since timestamptz not null default now(),
     beat timestamptz not null default now()
   );
   alter table trees
     add column owner uuid references hosts on delete set null,
     add column epoch bigint not null default 0;
   create function claim_tree(wanted text, claimer uuid, patience interval) returns bigint language sql as $$
     update trees set owner = claimer, epoch = epoch + 1, changed = now()
     where tree = wanted and (owner is null or owner = claimer
       or exists (select from hosts where host = owner and beat < clock_timestamp() - patience))
     returning epoch
   $$;
   create function add_to_streams(owned text, claimed bigint, paths text[], ats bigint[], added bytea[])
   returns boolean language plpgsql as $$
   begin
     perform from trees where tree = owned and epoch = claimed for share;
     if not found then return false; end if;
     for n in 1 .. cardinality(paths) loop
       if ats[n] = 0 then
         insert into streams as stream (tree, path, size) values (owned, paths[n], length(added[n]))
         on conflict (tree, path) do update set size = length(added[n]) where stream.size = 0;
       else
         update streams set size = size + length(added[n]) where tree = owned and path = paths[n] and size = ats[n];
       end if;
       if not found then raise exception 'the stream % does not end at %', paths[n], ats[n] using errcode = 'AG001'; end if;
     end loop;
     insert into chunks (tree, path, at, bytes)
     select owned, each.path, each.at, each.bytes from unnest(paths, ats, added) as each (path, at, bytes)
     where length(each.bytes) > 0;
     return true;
   end
   $$;`,
  `alter table contents add column put timestamptz not null default now();
   create index contents_by_put on contents (put);
   alter table files add column is_behind boolean not null default false;
   create table chores (chore text primary key, done timestamptz not null default now());
   create or replace function claim_tree(wanted text, claimer uuid, patience interval) returns bigint language sql as $$
     update trees set owner = claimer, epoch = epoch + 1, changed = now()
     where tree = wanted and state = 'ready' and (owner is null or owner = claimer
       or exists (select from hosts where host = owner and beat < clock_timestamp() - patience))
     returning epoch
   $$;
   create function record_tree(
     owned text, claimed bigint, stream_paths text[], ats bigint[], added bytea[], small bytea[],
     entry_paths text[], kinds text[], modes int[], hashes bytea[], targets text[], behinds boolean[], gone text[]
   ) returns boolean language plpgsql as $$
   begin
     if not add_to_streams(owned, claimed, stream_paths, ats, added) then return false; end if;
     if cardinality(small) > 0 then
       insert into contents as content (hash, size, is_whole)
       select distinct sha256(bytes), length(bytes), true from unnest(small) as bytes order by 1
       on conflict (hash) do update set is_whole = true, put = clock_timestamp()
       where not content.is_whole or content.put < clock_timestamp() - interval '1 hour';
       insert into parts (hash, number, bytes)
       select distinct sha256(bytes), 0, bytes from unnest(small) as bytes where length(bytes) > 0
       on conflict do nothing;
     end if;
     if exists (select from unnest(hashes) as named (hash) where named.hash is not null
       and not exists (select from contents where contents.hash = named.hash and is_whole)) then
       raise exception 'the content of a file is not there' using errcode = 'AG002';
     end if;
     delete from files where tree = owned and path = any (gone);
     insert into files (tree, path, kind, mode, hash, target, is_behind)
     select owned, each.* from unnest(entry_paths, kinds, modes, hashes, targets, behinds) as each
     on conflict (tree, path) do update
     set kind = excluded.kind, mode = excluded.mode, hash = excluded.hash, target = excluded.target,
       is_behind = excluded.is_behind;
     return true;
   end
   $$;`,
  // What all hosts need to know of a tree without reading it: how the agent is doing, whether somebody has to be at
  // work on it, and when something falls due in it.
  `alter table hosts
     add column version text not null default '',
     add column home uuid,
     add column is_draining boolean not null default false,
     add column take_overs int not null default 0;
   alter table trees
     add column is_wanted boolean not null default false,
     add column due timestamptz,
     add column summary jsonb,
     add column summary_version int,
     add column inbox jsonb,
     add column noted timestamptz;
   -- What hosts ask each other. It is worth nothing after a crash, so it need not survive one.
   create unlogged table requests (
     id uuid primary key,
     host uuid not null,
     deadline timestamptz not null,
     taken timestamptz,
     head jsonb not null,
     body bytea not null
   );
   create index requests_by_host on requests (host) where taken is null;
   create unlogged table replies (
     request uuid not null,
     number int not null,
     head jsonb not null,
     bytes bytea not null,
     is_last boolean not null,
     primary key (request, number)
   );
   create index trees_wanted on trees (tree) where is_wanted;
   create index trees_due on trees (due) where due is not null and owner is null;
   create index trees_noted on trees (noted);
   drop function claim_tree(text, uuid, interval);
   create function claim_tree(asked text, claimer uuid, patience interval) returns bigint language plpgsql as $$
   declare
     before uuid;
     claimed bigint;
   begin
     select owner into before from trees where tree = asked for update;
     update trees set owner = claimer, epoch = epoch + 1, is_wanted = true, changed = now()
     where tree = asked and state = 'ready' and (owner is null or owner = claimer
       or exists (select from hosts where host = owner and beat < clock_timestamp() - patience))
     returning epoch into claimed;
     if claimed is not null and before is not null and before <> claimer then
       update hosts set take_overs = take_overs + 1 where host = claimer;
     end if;
     return claimed;
   end
   $$;
   create function join_hosts(joining uuid, called text, program text, folder uuid) returns void language plpgsql as $$
   begin
     delete from requests where deadline < clock_timestamp() - interval '1 hour';
     delete from replies where not exists (select from requests where id = request);
     delete from hosts where home = folder or beat < clock_timestamp() - interval '1 day';
     insert into hosts (host, name, version, home) values (joining, called, program, folder);
   end
   $$;
   create function attend(attending uuid, patience interval)
   returns table (engine_ms float8, host_count int, is_draining boolean, orphans text[], due_trees text[])
   language plpgsql as $$
   declare
     drains boolean;
     oldest timestamptz := clock_timestamp() - patience;
   begin
     update hosts set beat = clock_timestamp() where host = attending returning hosts.is_draining into drains;
     if not found then return; end if;
     return query select
       extract(epoch from clock_timestamp())::float8 * 1000,
       (select count(*)::int from hosts where beat >= oldest),
       drains,
       case when drains then '{}' else array(
         select tree from trees left join hosts on host = owner
         where is_wanted and state = 'ready' and (owner is null or beat < oldest)
         order by random() limit 20
       ) end,
       case when drains then '{}' else array(
         select tree from trees where due <= clock_timestamp() and owner is null and state = 'ready'
         order by random() limit 20
       ) end;
   end
   $$;`,
];

export const ENGINE_VERSION = MIGRATIONS.length;

/** Undefined where nothing of ours is there yet. */
export async function engineVersion(database: Database): Promise<number | undefined> {
  const { schema } = database.address;
  const [there] = await database.query<{ found: string | null }>("select to_regclass($1) as found", [
    `${schema}.engine_version`,
  ]);
  if (there?.found == null) return undefined;
  const [row] = await database.query<{ version: number }>("select version from engine_version");
  return row?.version;
}

/**
 * Brings an engine to this version, or finds it there.
 *
 * MIGRATION-1. One host at a time, and all of it or nothing: a host that is killed in the middle has changed nothing.
 * MIGRATION-2. An engine of a later version is refused, and nothing is changed.
 */
export async function migrate(database: Database): Promise<{ from: number; to: number }> {
  const { schema } = database.address;
  const found = await engineVersion(database);
  if (found === ENGINE_VERSION) return { from: found, to: found };
  return database.transaction(async (queries) => {
    await queries.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [`agiraph ${schema}`]);
    const [there] = await queries.query("select from pg_namespace where nspname = $1", [schema]);
    if (!there) await queries.query(`create schema ${schema}`);
    await queries.query("create table if not exists engine_version (version int not null)");
    const [row] = await queries.query<{ version: number }>("select version from engine_version");
    const from = row?.version ?? 0;
    if (from > ENGINE_VERSION)
      throw new EngineError(
        `The engine ${database.address.shown} is used by a newer Agiraph (version ${from} of its tables; this one knows ${ENGINE_VERSION}). Nothing was changed; update Agiraph on this host.`,
      );
    for (const sql of MIGRATIONS.slice(from)) await queries.query(sql);
    await queries.query(row ? "update engine_version set version = $1" : "insert into engine_version values ($1)", [
      ENGINE_VERSION,
    ]);
    return { from, to: ENGINE_VERSION };
  });
}
