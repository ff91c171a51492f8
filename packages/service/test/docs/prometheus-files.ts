import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'

/** A file of `docs/deploy/prometheus`. */
export const deployFile = (name: string): string => join(__dirname, '../../../../docs/deploy/prometheus', name)

const read = (name: string): string => readFileSync(deployFile(name), 'utf8')

interface AlertRule {
  readonly alert: string
  readonly expr: string
  readonly annotations: Readonly<Record<string, string>>
}

interface Panel {
  readonly id: number
  readonly title: string
  readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>
  readonly targets: readonly { readonly expr: string }[]
}

export const alertRules = (
  parse(read('alerts.yml')) as { groups: readonly { rules: readonly AlertRule[] }[] }
).groups.flatMap(({ rules }) => rules)
export const panels = (JSON.parse(read('dashboard.json')) as { panels: readonly Panel[] }).panels

interface ScaledObject {
  readonly spec: { readonly triggers: readonly { readonly metadata: { readonly query: string } }[] }
}

const scaled = parseAllDocuments(read('../kubernetes/scaling.yaml')).map((document) => document.toJS() as ScaledObject)

/** The queries of alerts, of panels and of the scaling. */
export const queries: readonly string[] = [
  ...alertRules.map(({ expr }) => expr),
  ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ...scaled.flatMap(({ spec }) => spec.triggers.map(({ metadata }) => metadata.query)),
]
