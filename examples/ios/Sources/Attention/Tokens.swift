/// What the JSON of an export says about its `.tflite` files.
struct Description: Decodable {
    let signature: String
    let longest_source: Int
    let longest_output: Int
    let source_tokens: String
    let target_tokens: String
    let normal_form: String
    let source_vocabulary: [String?]?
    let target_vocabulary: [String?]?
}

/// Texts of one side into tokens and ids and back, for the three kinds that an export can have.
///
/// Tokens are arrays of Unicode scalars: Swift's `Character` joins several of them, the model does not.
struct Tokens {
    private static let noCharacter: Int32 = -1 // U+0000, since 0 is padding
    private static let space: [Unicode.Scalar] = [" "]

    private let kind: String
    private let vocabulary: [[Unicode.Scalar]?]
    private let ids: [[Unicode.Scalar]: Int32]
    private let longest: Int
    private let unknown: Int32

    init(kind: String, vocabulary listed: [String?]?) {
        self.kind = kind
        let known: [[Unicode.Scalar]?] = (listed ?? []).map { token in token.map { Array($0.unicodeScalars) } }
        vocabulary = known
        var numbered: [[Unicode.Scalar]: Int32] = [:]
        for (id, token) in known.enumerated() {
            if let token { numbered[token] = Int32(id) }
        }
        ids = numbered
        longest = known.map { $0?.count ?? 0 }.max() ?? 0
        unknown = Int32(known.lastIndex { $0 == nil } ?? 0) // the last of the reserved ids
    }

    /// Name of the side's tensor.
    var tensor: String { kind == "char" ? "code_points" : "token_ids" }

    func split(_ text: String) -> [[Unicode.Scalar]] {
        let scalars = Array(text.unicodeScalars)
        switch kind {
        case "char": return scalars.map { [$0] }
        case "word": return scalars.split { " \t\n\r\u{0C}\u{0B}".unicodeScalars.contains($0) }.map(Array.init)
        default: return pieces(scalars)
        }
    }

    func id(of token: [Unicode.Scalar]) -> Int32 {
        guard kind == "char" else { return ids[token] ?? unknown }
        return token[0].value == 0 ? Self.noCharacter : Int32(token[0].value)
    }

    func token(of id: Int32) -> [Unicode.Scalar] {
        if kind != "char" { return vocabulary[Int(id)] ?? [] }
        return Unicode.Scalar(UInt32(id)).map { [$0] } ?? []
    }

    func join(_ tokens: [[Unicode.Scalar]]) -> String {
        var scalars = Array(tokens.joined(separator: kind == "word" ? Self.space : []))
        if kind == "subword", scalars.first == " " { scalars.removeFirst() }
        return text(scalars)
    }

    func text(_ scalars: [Unicode.Scalar]) -> String {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        return String(view)
    }

    /// A space before the text; then from the left the longest piece that fits, or one scalar.
    private func pieces(_ text: [Unicode.Scalar]) -> [[Unicode.Scalar]] {
        var rest = text.isEmpty ? [] : (Self.space + text)[...]
        var found: [[Unicode.Scalar]] = []
        while !rest.isEmpty {
            let lengths = stride(from: min(longest, rest.count), to: 1, by: -1)
            let length = lengths.first { ids[Array(rest.prefix($0))] != nil } ?? 1
            found.append(Array(rest.prefix(length)))
            rest = rest.dropFirst(length)
        }
        return found
    }
}
