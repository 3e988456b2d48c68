// A card with one number and its title.

export interface FigureProps {
  readonly title: string
  /** Empty until it is known. */
  readonly value: string
  /** An outcome, whose colour stands before the title. */
  readonly tone?: string
  readonly chip?: 'good' | 'warn' | 'bad' | undefined
  readonly more?: string
}

export function Figure({ title, value, tone, chip, more }: FigureProps) {
  return (
    <div class="figure card">
      <dt class="small soft">
        {tone !== undefined && <span class={`swatch ${tone}`} />} {title}
      </dt>
      <dd class="clip" title={value}>
        {chip === undefined ? value || ' ' : <span class={`chip ${chip}`}>{value}</span>}
      </dd>
      {more !== undefined && (
        <dd class="small soft clip" title={more}>
          {more || ' '}
        </dd>
      )}
    </div>
  )
}
