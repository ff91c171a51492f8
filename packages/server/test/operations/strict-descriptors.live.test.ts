import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { loadSync, type MessageTypeDefinition } from '@grpc/proto-loader'
import { protoPath as healthProto } from 'grpc-health-check'
import { describe, expect, it } from 'vitest'
import { strictDefinition } from '../../src/operations/strict-descriptors.js'
import { hasPrograms, needPackages } from '../../../service/test/interop/debian-packages.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

const folder = temporaryFolder()

/** Maps, some of them in nested messages, and type names that resolve in outer scopes. */
const mapsProto = join(folder, 'maps.proto')
writeFileSync(
  mapsProto,
  `syntax = "proto3";
package one.two;
enum Kind { NONE = 0; }
message Outer {
  message Inner {
    enum Level { LOW = 0; }
    map<string, Level> by_name = 1;
    map<int32, Outer> Outers = 2;
    Level level = 3;
    Other other = 4;
  }
  Inner inner = 1;
  repeated Kind kinds = 2;
  map<string, Inner> inner_by_long_name = 3;
}
message Other { Outer.Inner inner = 1; }
service Names { rpc Get(Outer) returns (stream Other); }
`,
)

const messages = loadSync('google/protobuf/descriptor.proto', { enums: String, longs: String })
type Codec = MessageTypeDefinition<object, object>
const fileOf = (bytes: Buffer): object => (messages['google.protobuf.FileDescriptorProto'] as Codec).deserialize(bytes)

const strict = (path: string, name = basename(path)): object => {
  const definition = strictDefinition(loadSync(path, { keepCase: true }), name)[name]
  const [bytes] = (definition as { readonly fileDescriptorProtos: readonly Buffer[] }).fileDescriptorProtos
  return fileOf(bytes ?? Buffer.alloc(0))
}

/** The output of the compiler without its convenience fields, sorted, because the loader uses another order. */
const compiled = (path: string): object => {
  const out = join(folder, 'set.bin')
  execFileSync('protoc', ['-I', dirname(path), `--descriptor_set_out=${out}`, basename(path)])
  const set = (messages['google.protobuf.FileDescriptorSet'] as Codec).deserialize(readFileSync(out))
  return (set as { readonly file: readonly object[] }).file[0] ?? {}
}

const plain = (value: unknown): unknown => {
  if (Array.isArray(value)) {
    const items = value.map(plain)
    return items.sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)))
  }
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(
    ([key, item]) => key !== 'jsonName' && !(Array.isArray(item) && item.length === 0),
  )
  return Object.fromEntries(entries.sort().map(([key, item]) => [key, plain(item)]))
}

const files = [
  ['our own file, which has no package', 'proto/dataflow.proto'],
  ['the health service, which has a map', healthProto],
  ['maps and nested names', mapsProto],
] as const

const protoc = needPackages(['protobuf-compiler'], () => hasPrograms('protoc'))

describe('a descriptor for strict clients', () => {
  it.skipIf(protoc.areAbsent).each(files)(protoc.title('is what protoc makes of %s'), (_name, path) => {
    expect(plain(strict(path))).toEqual(plain(compiled(path)))
  })

  it('names map entries after their fields, and types absolutely', () => {
    const text = JSON.stringify(strict(mapsProto, 'some/maps.proto'))
    expect(text).toContain('"name":"some/maps.proto"')
    for (const name of ['ByNameEntry', 'OutersEntry', 'InnerByLongNameEntry'])
      expect(text).toContain(`"name":"${name}"`)
    const types = [...text.matchAll(/"typeName":"([^"]*)"/g)].map(([, type]) => type).sort()
    expect(types).toEqual(
      [
        '.one.two.Outer.Inner.ByNameEntry',
        '.one.two.Outer.Inner.OutersEntry',
        '.one.two.Outer.InnerByLongNameEntry',
        '.one.two.Outer.Inner.Level',
        '.one.two.Outer.Inner.Level',
        '.one.two.Kind',
        '.one.two.Outer',
        '.one.two.Outer.Inner',
        '.one.two.Outer.Inner',
        '.one.two.Outer.Inner',
        '.one.two.Other',
      ].sort(),
    )
  })
})
