// Reads and writes sessionStorage (this tab) and localStorage (this device). If the browser blocks storage, items are
// not stored and reads return undefined.

/**
 * @param {string} name
 * @returns {string | undefined}
 */
export function readItem(name) {
  try {
    return sessionStorage.getItem(name) ?? localStorage.getItem(name) ?? undefined;
  } catch {
    return undefined;
  }
}

/**
 * @param {string} name
 * @param {string} value
 * @param {'tab' | 'device'} scope
 */
export function storeItem(name, value, scope) {
  try {
    (scope === 'device' ? localStorage : sessionStorage).setItem(name, value);
  } catch {
    // Storage is blocked or full.
  }
}

/** @param {string} name */
export function removeItem(name) {
  try {
    sessionStorage.removeItem(name);
    localStorage.removeItem(name);
  } catch {
    // Storage is blocked, so nothing was stored.
  }
}
