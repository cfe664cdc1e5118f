// Imports a package of this folder, for tests in other folders.
export const load = (name) => import(name);
