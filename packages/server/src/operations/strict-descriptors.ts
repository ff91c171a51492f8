import { loadSync, type AnyDefinition, type MessageTypeDefinition, type PackageDefinition } from '@grpc/proto-loader'

/** The part of `google.protobuf.FileDescriptorProto` that is read here; everything else passes through. */
interface Field {
  readonly typeName?: string
}
interface Message {
  readonly name: string
  readonly field?: readonly Field[]
  readonly nestedType?: readonly Message[]
  readonly enumType?: readonly { readonly name: string }[]
  readonly options?: { readonly mapEntry?: boolean }
}
interface File {
  readonly name: string
  readonly package?: string
  readonly messageType?: readonly Message[]
  readonly enumType?: readonly { readonly name: string }[]
}

type FileCodec = MessageTypeDefinition<File, File>

const fileCodec = (): FileCodec =>
  loadSync('google/protobuf/descriptor.proto', { enums: String, longs: String })[
    'google.protobuf.FileDescriptorProto'
  ] as FileCodec

/** A map entry is named after its field, `foo_bar`, as protoc does it: `FooBarEntry`, not `Foo_bar` as the loader. */
const mapEntryName = (name: string): string =>
  `${name.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Entry`

const rootOf = ({ package: name }: File): string => (name === undefined ? '' : `.${name}`)

/** The messages and enums of a file, as the loader names them, each with its absolute name as protoc would write it. */
const absoluteNames = (file: File): ReadonlyMap<string, string> => {
  const names = new Map<string, string>()
  const add = (types: Pick<Message, 'nestedType' | 'enumType'>, scope: string, absolute: string): void => {
    for (const { name } of types.enumType ?? []) names.set(`${scope}.${name}`, `${absolute}.${name}`)
    for (const message of types.nestedType ?? []) {
      const { name, options } = message
      const own = options?.mapEntry === true ? mapEntryName(name) : name
      names.set(`${scope}.${name}`, `${absolute}.${own}`)
      add(message, `${scope}.${name}`, `${absolute}.${own}`)
    }
  }
  const root = rootOf(file)
  add({ nestedType: file.messageType ?? [], enumType: file.enumType ?? [] }, root, root)
  return names
}

/** Resolves a relative name from its scope outwards, as protobuf does; undefined if it is not in this file. */
const resolve = (names: ReadonlyMap<string, string>, scope: string, name: string): string | undefined => {
  for (let at = scope; ; at = at.slice(0, at.lastIndexOf('.'))) {
    const found = names.get(`${at}.${name}`)
    if (found !== undefined || at === '') return found
  }
}

const strictDescriptor = (loaded: Buffer, fileName: string): Buffer => {
  const { deserialize, serialize } = fileCodec()
  const file = deserialize(loaded)
  const names = absoluteNames(file)
  const strictMessage = (message: Message, scope: string): Message => {
    const path = `${scope}.${message.name}`
    return {
      ...message,
      name: message.options?.mapEntry === true ? mapEntryName(message.name) : message.name,
      field: (message.field ?? []).map(({ typeName, ...field }) =>
        typeName === undefined ? field : { ...field, typeName: resolve(names, path, typeName) ?? typeName },
      ),
      nestedType: (message.nestedType ?? []).map((nested) => strictMessage(nested, path)),
    }
  }
  const messageType = (file.messageType ?? []).map((message) => strictMessage(message, rootOf(file)))
  return serialize({ ...file, name: fileName, messageType })
}

type TypeDefinition = Extract<AnyDefinition, { readonly fileDescriptorProtos: Buffer[] }>

/** Services have no descriptor; every message and enum has that of its file. */
const isType = (definition: AnyDefinition): definition is TypeDefinition =>
  Array.isArray(definition.fileDescriptorProtos)

/**
 * A definition that represents a whole .proto file, with the descriptor that protoc would write. That of the loader
 * (protobufjs) has map entries without `Entry` in their name, which strict clients such as `buf curl` refuse together
 * with the file, relative type names, and their own file name.
 */
export const strictDefinition = (loaded: PackageDefinition, fileName: string): PackageDefinition => {
  const type = Object.values(loaded).find(isType)
  if (type === undefined) return {}
  const fileDescriptorProtos = type.fileDescriptorProtos.map((file) => strictDescriptor(file, fileName))
  return { [fileName]: { ...type, fileDescriptorProtos } }
}
