// The API's description as an HTML page. It loads nothing from other hosts and has no script.

interface Schema {
  readonly type?: string | readonly string[]
  readonly title?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
}

interface Operation {
  readonly tags?: readonly string[]
  readonly summary?: string
  readonly description?: string
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly required?: boolean
    readonly description?: string
    readonly schema: Schema
  }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
  readonly responses?: Readonly<
    Record<string, { readonly description?: string; readonly content?: Readonly<Record<string, { readonly schema?: Schema }>> }>
  >
}

/** The parts of an OpenAPI document that the page shows. */
export interface Description {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string }
  readonly tags?: readonly { readonly name: string; readonly description?: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> }
}

export const STYLE = `
:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}
body{max-width:56rem;margin:2rem auto;padding:0 1rem}
h2{margin-top:3rem;border-bottom:1px solid #8886;text-transform:capitalize}
section{margin:2rem 0;padding-left:1rem;border-left:3px solid #8886}
h3{font:600 1rem ui-monospace,monospace;margin:0}
code{font-family:ui-monospace,monospace;font-size:.9em}
table{border-collapse:collapse;width:100%;margin:.5rem 0}
td,th{text-align:left;vertical-align:top;padding:.25rem .75rem .25rem 0;border-bottom:1px solid #8883}
nav a{margin-right:1rem}
`

export function docsPage(document: Description): string {
  const { info, tags = [], paths } = resolved(document, document.components?.schemas ?? {}) as Description
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )
  const chapters = tags.map(({ name, description }) => {
    const sections = operations.filter(({ operation }) => operation.tags?.includes(name)).map(section)
    return `<h2 id="${html(name)}">${html(name)}</h2>${paragraphs(description)}${sections.join('')}`
  })
  const links = tags.map(({ name }) => `<a href="#${html(name)}">${html(name)}</a>`)
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${html(info.title)}</title><style>${STYLE}</style></head><body>
<h1>${html(info.title)} ${html(info.version)}</h1>${paragraphs(info.description)}
<p>For programs: <a href="/openapi.json">openapi.json</a></p><nav>${links.join('')}</nav>${chapters.join('')}</body></html>`
}

function section({ path, method, operation }: { path: string; method: string; operation: Operation }): string {
  const { summary, description, parameters = [], requestBody, responses = {} } = operation
  const body = Object.values(requestBody?.content ?? {})[0]?.schema
  const parts = [
    `<h3>${html(`${method} ${path}`)}</h3><p><strong>${html(summary ?? '')}</strong></p>${paragraphs(description)}`,
    parameters.length === 0
      ? ''
      : table(
          'Parameter',
          parameters.map((one) => row(`${one.name} (${one.in})`, one.schema, one.required === true, one.description)),
        ),
    body === undefined ? '' : table('Body', rowsOf(body)),
    ...Object.entries(responses).map(([status, { description: says, content }]) => {
      const data = Object.values(content ?? {})[0]?.schema?.properties?.data
      const rows = data?.properties === undefined ? '' : table('data', rowsOf(data))
      return `<p><code>${html(status)}</code> ${html(says ?? '')}</p>${rows}`
    }),
  ]
  return `<section>${parts.join('')}</section>`
}

/** Returns the value with every `$ref` replaced by its schema. */
function resolved(value: unknown, schemas: Readonly<Record<string, Schema>>): unknown {
  if (Array.isArray(value)) return value.map((item) => resolved(item, schemas))
  if (value === null || typeof value !== 'object') return value
  const { $ref } = value as { $ref?: string }
  if ($ref !== undefined) return resolved(schemas[$ref.split('/').at(-1) as string], schemas)
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, resolved(inner, schemas)]))
}

/** Table rows for the properties of an object, including nested ones. */
function rowsOf(schema: Schema, prefix = ''): string[] {
  const { properties = {}, required = [] } = schema
  return Object.entries(properties).flatMap(([name, property]) => {
    const inner = property.items ?? property
    const path = `${prefix}${name}${property.items === undefined ? '' : '[]'}`
    return [row(path, property, required.includes(name)), ...rowsOf(inner, `${path}.`)]
  })
}

function row(name: string, schema: Schema, isRequired: boolean, description = schema.description): string {
  const optional = isRequired ? '' : ' <small>optional</small>'
  return `<tr><td><code>${html(name)}</code>${optional}</td><td>${html(kind(schema))}</td><td>${html(description ?? '')}</td></tr>`
}

function table(head: string, rows: readonly string[]): string {
  return `<table><tr><th>${head}</th><th>is</th><th></th></tr>${rows.join('')}</table>`
}

function kind(schema: Schema): string {
  if (schema.title !== undefined) return schema.title
  if (schema.enum !== undefined) return schema.enum.map(String).join(' or ')
  if (schema.const !== undefined) return String(schema.const)
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(kind))].join(' or ')
  if (schema.items !== undefined) return `a list: ${kind(schema.items)}`
  return String(schema.type ?? 'anything')
}

function paragraphs(text: string | undefined): string {
  return (text ?? '')
    .split('\n\n')
    .filter((paragraph) => paragraph !== '')
    .map((paragraph) => `<p>${html(paragraph).replace(/`([^`]+)`/g, '<code>$1</code>')}</p>`)
    .join('')
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

function html(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => ENTITIES[sign])
}
