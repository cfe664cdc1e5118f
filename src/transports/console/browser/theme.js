// Applies the stored colour theme; without a stored theme, the device preference applies. The script is separate and
// blocking, so that the page never flashes in the wrong theme.
try {
  const chosen = localStorage.getItem('sonant-theme');
  if (chosen) document.documentElement.dataset.theme = chosen;
} catch {
  // Storage is blocked in this browser; the device preference applies.
}
