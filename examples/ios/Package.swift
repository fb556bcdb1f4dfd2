// swift-tools-version: 5.9
import PackageDescription

// TensorFlow Lite is published for CocoaPods alone. `fetch.sh` puts the same archive and the same
// Swift sources, of the version that the pod TensorFlowLiteSwift 2.17.0 names, into `Frameworks`.
let package = Package(
    name: "Attention",
    platforms: [.iOS(.v13)],
    products: [.library(name: "Attention", targets: ["Attention"])],
    targets: [
        .binaryTarget(name: "TensorFlowLiteC", path: "Frameworks/TensorFlowLiteC.xcframework"),
        .target(
            name: "TensorFlowLite",
            dependencies: ["TensorFlowLiteC"],
            path: "Frameworks/TensorFlowLite",
            linkerSettings: [.linkedLibrary("c++")]
        ),
        .target(
            name: "Attention",
            dependencies: ["TensorFlowLite"],
            resources: [.copy("Model/model.json"), .copy("Model/model.tflite")]
        ),
        .testTarget(name: "AttentionTests", dependencies: ["Attention"]),
    ]
)
