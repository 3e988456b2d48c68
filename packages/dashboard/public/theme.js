// Sets the chosen theme before the first paint. src/theme/theme.ts does the rest.
try {
  const theme = localStorage.getItem('sluice-theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {}
