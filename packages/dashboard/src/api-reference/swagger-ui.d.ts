// The part of Swagger UI that the API reference uses. The package has no types.

declare module 'swagger-ui-dist/swagger-ui-es-bundle.js' {
  export default function SwaggerUIBundle(options: {
    readonly url: string
    readonly domNode: HTMLElement | null
    readonly deepLinking: boolean
    readonly docExpansion: 'list' | 'full' | 'none'
    readonly defaultModelsExpandDepth: number
    readonly persistAuthorization: boolean
    readonly validatorUrl: string | null
    readonly tryItOutEnabled: boolean
  }): unknown
}
