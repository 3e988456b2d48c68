// The style of the HTML report, for light and dark, and for paper.

export const STYLE = `
:root { color-scheme: light dark; --ink: #1c2430; --quiet: #5a6675; --page: #ffffff; --line: #d5dbe3; --track: #e8ecf1; --all: #9fb0c5; --deny: #c8371d; --before: #b58900; --shadow: #7a5ea8; --shade: #f5f7fa }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9f0; --quiet: #9aa7b8; --page: #12161c; --line: #313a47; --track: #232b36; --all: #4d6280; --deny: #ff7a5c; --before: #e0b64a; --shadow: #b39ddb; --shade: #1a2029 } }
* { box-sizing: border-box }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 64rem; background: var(--page); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .25rem }
h2 { font-size: 1.15rem; margin: 2.5rem 0 .5rem }
p { margin: .25rem 0 }
.quiet { color: var(--quiet) }
.facts { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1.5rem 0; padding: 0; list-style: none }
.facts li { flex: 1 1 10rem; padding: .75rem 1rem; background: var(--shade); border: 1px solid var(--line); border-radius: .5rem }
.facts b { display: block; font-size: 1.5rem; line-height: 1.2; font-variant-numeric: tabular-nums; overflow-wrap: anywhere }
.wide { overflow-x: auto }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; overflow-wrap: break-word }
td:first-child { min-width: 9rem; overflow-wrap: anywhere }
th { font-weight: 600; color: var(--quiet); overflow-wrap: normal }
.number { text-align: right }
.number, .time { white-space: nowrap }
svg { display: block; width: 100%; height: auto; overflow: visible }
.ends { display: flex; justify-content: space-between; gap: 1rem; color: var(--quiet); font-size: .85rem }
.lead { font-size: 1.1rem; max-width: 48rem; margin: 1.25rem 0; overflow-wrap: anywhere }
.bar { min-width: 6rem; height: .5rem; margin: .1rem 0 .2rem }
.track { fill: var(--track) } .all { fill: var(--all) } .deny { fill: var(--deny) } .before { fill: var(--before) } .shadow { fill: var(--shadow) } .area { fill: transparent }
.axis { stroke: var(--line) }
.key { display: inline-block; width: .75em; height: .75em; margin: 0 .35em 0 1em; border-radius: 2px }
.key.all { background: var(--all) } .key.deny { background: var(--deny) } .key.before { background: var(--before) } .key.shadow { background: var(--shadow) }
.notes { padding-left: 1.2rem; white-space: pre-line; overflow-wrap: anywhere }
@media print { body { max-width: none; padding: 0 } .wide { overflow: visible } }
`
