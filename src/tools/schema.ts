/**
 * The words a tool's parameters are described with, as `z` of the package: the very copy of the schema library that
 * parses what models send, without the rest of it.
 */
export {
  array,
  boolean,
  enum,
  type infer,
  int,
  literal,
  nullable,
  number,
  object,
  optional,
  record,
  string,
  union,
} from "zod";
