// Where the key is kept: in this tab until it is closed, or on this device where that was asked for. A browser that keeps
// nothing has none.

const name = 'sonant-key';

/** @returns {string | undefined} */
export function readKey() {
  try {
    return sessionStorage.getItem(name) ?? localStorage.getItem(name) ?? undefined;
  } catch {
    return undefined;
  }
}

/**
 * @param {string} apiKey
 * @param {boolean} isForDevice
 */
export function keepKey(apiKey, isForDevice) {
  try {
    (isForDevice ? localStorage : sessionStorage).setItem(name, apiKey);
  } catch {
    // It will do until the page is left.
  }
}

export function forgetKey() {
  try {
    sessionStorage.removeItem(name);
    localStorage.removeItem(name);
  } catch {
    // There was none.
  }
}
