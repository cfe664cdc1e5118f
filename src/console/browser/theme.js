// Light or dark, as was chosen here, before anything is drawn; where nothing was chosen, as the device is. A script of
// its own, run at once, so that no page shows itself in the wrong one first.
try {
  const chosen = localStorage.getItem('sonant-theme');
  if (chosen) document.documentElement.dataset.theme = chosen;
} catch {
  // A browser that keeps nothing has nothing chosen.
}
