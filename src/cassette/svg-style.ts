/**
 * Light, and dark where who looks at it prefers that. The picture brings its own ground, so it can be read on a page of
 * any color. Contrast of text is at least 4.5 to 1 (WCAG 2.2, 1.4.3) in both.
 */
export const svgStyle = `
:root { color-scheme: light dark }
svg { --ground: #ffffff; --edge: #d8dee6; --grid: #eef1f5; --ink: #1c2530; --soft: #5b6776; --rail: #cfd6df;
  --connection: #5b6776; --control: #7a4fd0; --audio: #7d93ad; --speech: #0f8f86; --partials: #d9a514; --milestones: #2167d8;
  --finals: #23863a; --events: #b0529a; --fault: #cf2f3a }
@media (prefers-color-scheme: dark) {
  svg { --ground: #12171e; --edge: #2c3540; --grid: #1c242d; --ink: #e8edf3; --soft: #9dabba; --rail: #37424f;
    --connection: #9dabba; --control: #b59aff; --audio: #6f8aa8; --speech: #3ec7bb; --partials: #f0c347; --milestones: #6aa5ff;
    --finals: #5fcf78; --events: #e58fd0; --fault: #ff7a82 }
}
text { font: 12px ui-sans-serif, system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--ink) }
.title { font-size: 15px; font-weight: 600 }
.soft, .tick { fill: var(--soft) }
.tick { font-size: 11px; text-anchor: middle }
.name { font-size: 12px; font-weight: 600; text-anchor: end }
.ground { fill: var(--ground); stroke: var(--edge) }
.grid { stroke: var(--grid) }
.rail { stroke: var(--rail) }
.say { paint-order: stroke; stroke: var(--ground); stroke-width: 4px; stroke-linejoin: round }
.number { font-size: 10px; font-weight: 700; text-anchor: middle; fill: var(--ground) }
.time { font-size: 11px; text-anchor: end; fill: var(--soft); font-variant-numeric: tabular-nums }
.bar { rx: 4px; opacity: .85 }
.faint { opacity: .35 }
.marble { stroke: var(--ground); stroke-width: 1.5px }
.small { opacity: .8 }
.client { fill: var(--ground); stroke-width: 2px }
.connection { --own: var(--connection) } .control { --own: var(--control) } .audio { --own: var(--audio) }
.speech { --own: var(--speech) } .partials { --own: var(--partials) } .milestones { --own: var(--milestones) }
.finals { --own: var(--finals) } .events { --own: var(--events) } .fault { --own: var(--fault) }
.bar, .marble, .flow { fill: var(--own) }
.marble.client { fill: var(--ground); stroke: var(--own) }
.marble.client + .number { fill: var(--own) }
`.trim()
