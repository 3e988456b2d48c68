// Puts the chosen theme on before the first paint; the rest of it is in src/theme/theme.ts.
try {
  const theme = localStorage.getItem('sluice-theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {}
