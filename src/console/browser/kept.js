// What is kept from one visit to the next: in this tab until it is closed, or on this device. A browser that keeps nothing
// has nothing kept; what is to be kept then lasts until the page is left.

/**
 * @param {string} name
 * @returns {string | undefined}
 */
export function recall(name) {
  try {
    return sessionStorage.getItem(name) ?? localStorage.getItem(name) ?? undefined;
  } catch {
    return undefined;
  }
}

/**
 * @param {string} name
 * @param {string} value
 * @param {'tab' | 'device'} where
 */
export function keep(name, value, where) {
  try {
    (where === 'device' ? localStorage : sessionStorage).setItem(name, value);
  } catch {
    // It will do until the page is left.
  }
}

/** @param {string} name */
export function forget(name) {
  try {
    sessionStorage.removeItem(name);
    localStorage.removeItem(name);
  } catch {
    // There was nothing.
  }
}
