// Applies the stored colour theme before the first paint; without a stored theme the device preference applies. It is a
// separate blocking script, so that the page never flashes in the wrong theme.
try {
  const chosen = localStorage.getItem('sonant-theme');
  if (chosen) document.documentElement.dataset.theme = chosen;
} catch {
  // Storage is blocked in this browser; the device preference applies.
}
