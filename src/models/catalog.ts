import type { Model } from "./model.ts";
export interface Catalog { model(id: string): Promise<Model>; list(): unknown[]; chooseDefault(): Promise<{model: string; why: string}>; cost(...args: unknown[]): Promise<number | null> }
export function createCatalog(_: object): Catalog { throw new Error("not yet"); }
