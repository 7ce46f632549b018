/**
 * Stands in for the schema library in the page's build. The folds come with the schemas they are typed by; the page
 * needs the types only, and all of them would weigh a third of it. Checking anything with one of these is a mistake.
 */
const schema: unknown = new Proxy(() => {}, {
  get(_, name) {
    if (typeof name === "string" && /^(?:safe)?parse/i.test(name))
      throw new Error("The page has no schemas; check what comes in by hand (frames.ts).");
    return schema;
  },
  apply: () => schema,
});

export { schema as z };
