// The API reference: Swagger UI over the document that this instance serves, with requests that people can try.

import SwaggerUIBundle from 'swagger-ui-dist/swagger-ui-es-bundle.js'

const root = document.documentElement
const prefersDark = matchMedia('(prefers-color-scheme: dark)')

/** Swagger UI has a class for dark colours, and knows no preference. */
function followTheme(): void {
  const { theme } = root.dataset
  root.classList.toggle('dark-mode', theme === undefined ? prefersDark.matches : theme === 'dark')
}

followTheme()
prefersDark.addEventListener('change', followTheme)

SwaggerUIBundle({
  url: '/openapi.json',
  domNode: document.getElementById('reference'),
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  // A key that is entered stays in the memory of the page.
  persistAuthorization: false,
  // The document is checked by the tests. The public validator would be another host.
  validatorUrl: null,
  tryItOutEnabled: true,
})
