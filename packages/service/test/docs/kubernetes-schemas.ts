import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import ts from 'typescript'
import { needPackages } from '../interop/debian-packages.js'

/**
 * A folder of packages outside of the checkout, in RXSPEECH_SCHEMAS: types and validators that their authors generate
 * from the published API of Kubernetes, KEDA and the Prometheus operator, 30 MB with what they need.
 */
const folder = process.env['RXSPEECH_SCHEMAS'] ?? ''

export const kubernetesSchemas = needPackages(
  ['kubernetes-models@5.1.0', '@kubernetes-models/keda@2.0.0', '@kubernetes-models/prometheus-operator@6.0.0'],
  () => existsSync(join(folder, '@kubernetes-models/prometheus-operator')),
  'RXSPEECH_SCHEMAS=DIR/node_modules after npm install --prefix DIR',
)

/** A document of a manifest. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
}

/** `kubernetes-models/apps/v1`, `kubernetes-models/v1`, `@kubernetes-models/keda/keda.sh/v1alpha1`. */
const moduleOf = ({ apiVersion }: Manifest): string => {
  if (apiVersion.startsWith('keda.sh/')) return `@kubernetes-models/keda/${apiVersion}`
  if (apiVersion.startsWith('monitoring.coreos.com/')) return `@kubernetes-models/prometheus-operator/${apiVersion}`
  return `kubernetes-models/${apiVersion}`
}

interface Model {
  readonly validate: () => void
}

/** Faults by the schema: missing and malformed fields. */
const faultsBySchema = async (manifest: Manifest): Promise<readonly string[]> => {
  const file = pathToFileURL(join(folder, moduleOf(manifest), 'index.js')).href
  const module = (await import(/* @vite-ignore */ file)) as Readonly<Record<string, new (data: object) => Model>>
  const { [manifest.kind]: Class } = module
  if (Class === undefined) return [`${manifest.apiVersion} has no ${manifest.kind}`]
  try {
    new Class(manifest).validate()
    return []
  } catch (error) {
    return [String(error)]
  }
}

/** Faults by the types: above all fields that do not exist, which the schema allows. */
const faultsByType = (manifests: readonly Manifest[]): readonly string[] => {
  const file = join(folder, '..', 'manifests.ts')
  const lines = manifests.flatMap((manifest, index) => [
    `import type { I${manifest.kind} as Type${index} } from '${moduleOf(manifest)}'`,
    `export const manifest${index}: Type${index} = ${JSON.stringify(manifest)}`,
  ])
  const text = lines.join('\n')
  const options: ts.CompilerOptions = {
    ...{ noEmit: true, strict: true, skipLibCheck: true, types: [], target: ts.ScriptTarget.ES2022 },
    ...{ module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler },
  }
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists } = host
  host.getSourceFile = (name, version) =>
    name === file ? ts.createSourceFile(name, text, version) : getSourceFile(name, version)
  host.fileExists = (name) => name === file || fileExists(name)
  const program = ts.createProgram([file], options, host)
  return ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
}

/** What is wrong with these manifests. */
export const manifestFaults = async (manifests: readonly Manifest[]): Promise<readonly string[]> => [
  ...(await Promise.all(manifests.map(faultsBySchema))).flat(),
  ...faultsByType(manifests),
]
