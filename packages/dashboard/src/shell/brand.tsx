// The product's name and logo.

export function Brand() {
  return (
    <span class="brand">
      <svg viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="8" />
        <path class="gate" d="M9 6v9M16 6v9M23 6v9" />
        <path
          class="water"
          d="M5 21c3 0 3-2 5.500-2s2.500 2 5.500 2 3-2 5.500-2 2.500 2 5.500 2M5 26c3 0 3-2 5.500-2s2.500 2 5.500 2 3-2 5.500-2 2.500 2 5.500 2"
        />
      </svg>
      Sluice
    </span>
  )
}
