// A sentence on how things stand, with a tone.

export interface Summary {
  readonly tone: 'good' | 'warn' | 'bad'
  readonly title: string
  readonly text: string
}
