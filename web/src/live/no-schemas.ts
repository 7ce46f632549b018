/**
 * Replaces the schema library in the page's build. The folds come with the schemas that define their types; the page
 * needs only the types, and the schemas would be a third of its size. Parsing with one of these is a bug.
 */
const schema: unknown = new Proxy(() => {}, {
  get(_, name) {
    if (typeof name === "string" && /^(?:safe)?parse/i.test(name))
      throw new Error("The page has no schemas; check what comes in by hand (event-frames.ts).");
    return schema;
  },
  apply: () => schema,
});

export { schema as z };
