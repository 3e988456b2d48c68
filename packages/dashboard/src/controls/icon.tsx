// Icons of buttons, drawn in the colour of their text.

const PATHS = {
  copy: 'M8 8h11v11H8zM5 15V5h10',
  check: 'M5 12.5l4.500 4.500L19 7.500',
  plus: 'M12 5v14M5 12h14',
  cross: 'M6 6l12 12M18 6L6 18',
  link: 'M10 14a4 4 0 005.700 0l3-3a4 4 0 00-5.700-5.700l-1 1M14 10a4 4 0 00-5.700 0l-3 3a4 4 0 005.700 5.700l1-1',
  code: 'M8 7l-5 5 5 5M16 7l5 5-5 5',
  sun: 'M12 8a4 4 0 100 8 4 4 0 000-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.400 1.400M17.600 17.600L19 19M19 5l-1.400 1.400M6.400 17.600L5 19',
  moon: 'M20 14.500A8.500 8.500 0 019.500 4 8.500 8.500 0 1020 14.500z',
  screen: 'M3 5h18v11H3zM9 20h6M12 16v4',
  back: 'M4 12a8 8 0 108-8H6M9 1L6 4l3 3',
  warning: 'M12 3l10 18H2zM12 10v5M12 18v.500',
  overview: 'M4 20V11M10 20V4M16 20v-7M22 20H2',
  live: 'M2 12h4l3-8 5 16 3-8h5',
  clients:
    'M9 11a4 4 0 100-8 4 4 0 000 8zM2 21c0-4 3-6.500 7-6.500s7 2.500 7 6.500M16 3.500a4 4 0 010 7M18.500 15c2.300.800 3.500 3 3.500 6',
  policies: 'M4 6h10M18 6h2M4 12h4M12 12h8M4 18h8M16 18h4M16 4v4M10 10v4M14 16v4',
  fleet: 'M4 4h16v6H4zM4 14h16v6H4zM8 7v.010M8 17v.010',
  keys: 'M8 16a4 4 0 100-8 4 4 0 000 8zM12 12h9v4M17 12v3',
  playground: 'M9 3h6M10 3v6l-6 10a1.500 1.500 0 001.300 2h13.400a1.500 1.500 0 001.300-2L14 9V3M7 15h10',
  leave: 'M14 4h5v16h-5M3 12h11M10 8l4 4-4 4',
  search: 'M10.500 17a6.500 6.500 0 100-13 6.500 6.500 0 000 13zM15.500 15.500L21 21',
  pause: 'M8 5v14M16 5v14',
  play: 'M7 4l13 8-13 8z',
  edit: 'M4 20h4L20 8l-4-4L4 16z',
  forward: 'M9 5l7 7-7 7',
  bin: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg
      class="icon"
      viewBox="0 0 24 24"
      aria-hidden="true"
      fill="none"
      stroke="currentColor"
      stroke-width="1.8"
      stroke-linecap="round"
      stroke-linejoin="round"
    >
      <path d={PATHS[name]} />
    </svg>
  )
}
