"""The benchmark graphs: where their files come from, how they are read, and what is known about them.

`expected` holds figures of the graph in upstream's files (an edge counts once, self-loops included), `paper` those
that the CGNN paper prints, `settings` the paper's hyper-parameters: graphs beyond the paper have neither. `content` is
the checksum of the arrays that the reader makes of the genuine files; None where no genuine file was at hand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

READER_VERSION = 1  # raise it when a reader makes another graph of the same files
MIB, GIB = 1 << 20, 1 << 30


@dataclass(frozen=True)
class UpstreamFile:
    """A file as upstream publishes it: at an address, or on Google Drive under an id. `limit` bounds its size."""

    name: str
    address: str = ""
    sha256: str | None = None
    drive: str | None = None
    limit: int = 64 * MIB


@dataclass(frozen=True)
class Benchmark:
    """One benchmark graph. `folder` is its folder on a mirror and on disk; the first protocol is its default.

    reader: a module of upstream/readers with `read(files) -> Graph`, or the full name of one from elsewhere.
    """

    title: str
    folder: str
    files: tuple[UpstreamFile, ...]
    reader: str
    protocols: tuple[str, ...]
    expected: dict[str, Any]
    citation: str
    licence: str
    content: str | None = None
    paper: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def in_paper(self) -> bool:
        """Whether it is one of the eight graphs of the CGNN paper, whose figures for it are known."""
        return bool(self.paper)

    @property
    def reader_module(self) -> str:
        return self.reader if "." in self.reader else f"cgnn_cli.datasets.upstream.readers.{self.reader}"


GEOM_GCN = "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/f1fc0d14b3b019c562737240d06ec83b07d16a8f"
HETEROPHILOUS = "https://github.com/yandex-research/heterophilous-graphs/raw/main/data"
CORNELL_COPY = (
    "https://raw.githubusercontent.com/WillHua127/GraphKAN-Graph-Kolmogorov-Arnold-Networks/"
    "92faca81c1fdbcfcb1f807e173f018aada540235/data/cornell/raw"
)
PUBLISHED_FIRST = ("published", "per-class", "per-class-1020", "random")
PUBLISHED_OR_RANDOM = ("published", "random")  # too few nodes for 20 of each class and 500 to validate
DRAWN = ("per-class", "per-class-1020", "random")
TINY = "{count} test nodes a split: a difference of a few points is chance"
TWINS = "many nodes are copies of others: see test twins, and the -filtered version without them"
GEOM_GCN_PAPER = "Pei et al., Geom-GCN: Geometric Graph Convolutional Networks, ICLR 2020"
GEOM_GCN_CITATION = f"{GEOM_GCN_PAPER}; pages from Rozemberczki et al., Multi-scale Attributed Node Embedding, 2021"
WEBKB_CITATION = (
    f"{GEOM_GCN_PAPER}; pages from Craven et al., Learning to Extract Symbolic Knowledge from the World Wide Web, "
    "AAAI 1998 (WebKB)"
)
FILTERED_CITATION = (
    "Platonov et al., A critical look at the evaluation of GNNs under heterophily: are we really making progress?, "
    "ICLR 2023"
)
LINKX_CITATION = "Lim et al., Large Scale Learning on Non-Homophilous Graphs, NeurIPS 2021"


def _geom_gcn(name: str, edges: str, nodes: str, splits: tuple[str, ...]) -> tuple[UpstreamFile, ...]:
    """The files of a geom-gcn graph; the arguments after the name are their checksums."""
    return (
        UpstreamFile("out1_graph_edges.txt", f"{GEOM_GCN}/new_data/{name}/out1_graph_edges.txt", edges),
        UpstreamFile("out1_node_feature_label.txt", f"{GEOM_GCN}/new_data/{name}/out1_node_feature_label.txt", nodes),
        *(
            UpstreamFile(file, f"{GEOM_GCN}/splits/{file}", sha256)
            for number, sha256 in enumerate(splits)
            for file in [f"{name}_split_0.6_0.2_{number}.npz"]
        ),
    )


def _filtered(name: str, sha256: str) -> tuple[UpstreamFile, ...]:
    file = f"{name}_filtered_directed.npz"
    return (UpstreamFile(file, f"{HETEROPHILOUS}/{file}", sha256),)


BENCHMARKS: dict[str, Benchmark] = {
    "squirrel": Benchmark(
        "Wikipedia pages on squirrels and their links; class: traffic",
        "squirrel",
        _geom_gcn(
            "squirrel",
            "453d8e96754d68e2ab0a7ebb56f93506b59531d95abaec7a2b46fe1eae7c39cd",
            "ac15ab755983717a187992eef8ce2017aae33ea444fd655b07e4662690dcc03a",
            (
                "f112b88d3354e86d164d4d915b6a1f695c10f0e01e3e6b9893fc7b09bb93191d",
                "2486c687c8befb55930a6237f76f1d86ce2ba345782eda6157f4e752d05f304f",
                "d62ff83862ad96022d3400dfc9b7ca405834ca62767319d97c36b3f02db978c0",
                "af3d90e0b2718ac7417e10e8b5b382443667412e846cabc3cc4e4a592f4cedae",
                "fbe848298bb72b88db0704050cf216e2a93c916540d577906f3e644b679a6a2c",
                "cd04fab46a181151ddd97ce93c65fe79558fb79ffa230b62f488ebfaf5fdcd75",
                "b9189f7903ca7556a025c54dd5be6c00ec5952d4299e71630bc9876157676412",
                "ea7fb3ca5d5aa45b917b99fb7d64d4e87322b2b5303a0156c547aa3f1a6c8941",
                "b43faa190ca6dd4885a39dfc2a93d59f56f5174f3567bdbc49b18dd9cd9b7fb4",
                "529ade4b86fd191908a96011f25c454653083674b6d4f090b3fdd27af2d14f62",
            ),
        ),
        "geom_gcn",
        PUBLISHED_FIRST,
        {"nodes": 5201, "edges": 217073, "clean_edges": 216933, "features": 2089, "classes": 5, "homophily": 0.223}
        | {"reciprocity": 0.171, "largest_component": 2154, "sinks": 3, "isolated": 0, "splits": 10},
        GEOM_GCN_CITATION,
        "no licence stated upstream",
        content="54d1a4fe214721191fb55e529227677267320769ac541204088271ce77ee3b53",
        paper={"nodes": 5201, "edges": 217073, "features": 2089, "classes": 5, "homophily": 0.22},
        settings={"lr": 0.005, "weight_decay": 0.0, "layers": 5, "hidden": 128},
        remarks=(TWINS,),
    ),
    "chameleon": Benchmark(
        "Wikipedia pages on chameleons and their links; class: traffic",
        "chameleon",
        _geom_gcn(
            "chameleon",
            "45ac593de9207470090230c8fd76beeb2f60b5371a9be088e8bf31e7f0619a4b",
            "5fd29736ff31b43a1bfcf305bc8b4cffc3103fb0957667976b2ea0f78aedcf5b",
            (
                "36605525b69be4e7df5b31fe6a1d044288c6ebf9f9f0514ca151f6a36afc5e8b",
                "d0779d5a1bedf1967d394468a52c0175fb00595d361fba897faf73322386c952",
                "86ad0d827bf4301dff830598fc0b70d0dd8689c5b4d72dab1d87a6c1970c4c6e",
                "37b3e994adf3afc55e16b617ed05af4e3ce308800755839084d77eced0528e9d",
                "f6b1d067b2b330132839d8b6120077bdc6cf759f7ce421f881a02e2953ec4596",
                "e7661834275c826692510cea0457b18b2c1ee38771f178d06e701b97541a1f6d",
                "16648d1197c1d3a2dec385346212c382030b0d5a8c997f4255aa2afa68a6b174",
                "61adcc53846becefecd466a5364dda23b983d387d1ac5d58c6e24d080c0fcba7",
                "7076ad5341a8218b1f5b6eccf9cfd15d28286ea11ef5c06eeee77af24ff2bf63",
                "743c4f813bf6130398a6511eb9ff07d2366c73bd6c7fddaf226a3f9e2917e0e7",
            ),
        ),
        "geom_gcn",
        PUBLISHED_FIRST,
        {"nodes": 2277, "edges": 36101, "clean_edges": 36051, "features": 2325, "classes": 5, "homophily": 0.234}
        | {"reciprocity": 0.260, "largest_component": 794, "sinks": 2, "isolated": 0, "splits": 10},
        GEOM_GCN_CITATION,
        "no licence stated upstream",
        content="fc14eabd9030deeed930ce55168be88895a4df0c14b74948aac7f5bbba56e9b8",
        paper={"nodes": 2277, "edges": 36101, "features": 2325, "classes": 5, "homophily": 0.23},
        settings={"lr": 0.01, "weight_decay": 0.0, "layers": 4, "hidden": 128},
        remarks=(TWINS,),
    ),
    "squirrel-filtered": Benchmark(
        "squirrel without duplicate nodes, with splits of its own",
        "squirrel_filtered",
        _filtered("squirrel", "0526e53252f0b052124f7390829c32e923d432acaf64206191a1144a07b39620"),
        "heterophilous",
        PUBLISHED_FIRST,
        {"nodes": 2223, "edges": 65718, "clean_edges": 65578, "features": 2089, "classes": 5, "homophily": 0.216}
        | {"reciprocity": 0.567, "largest_component": 2154, "sinks": 3, "isolated": 0, "splits": 10},
        FILTERED_CITATION,
        "MIT (heterophilous-graphs)",
        content="255024dcf885052b644ff035057af19b3138629be69f551c7b599db6f9177e7f",
    ),
    "chameleon-filtered": Benchmark(
        "chameleon without duplicate nodes, with splits of its own",
        "chameleon_filtered",
        _filtered("chameleon", "5a2d40701407188f1661d37a326484b49cc15251e0dedaa7bd380873dac80f21"),
        "heterophilous",
        PUBLISHED_FIRST,
        {"nodes": 890, "edges": 13584, "clean_edges": 13534, "features": 2325, "classes": 5, "homophily": 0.245}
        | {"reciprocity": 0.692, "largest_component": 794, "sinks": 2, "isolated": 0, "splits": 10},
        FILTERED_CITATION,
        "MIT (heterophilous-graphs)",
        content="dcc255df01657ac5844351d600b666160e5dfe4fc3ac879fb530ff58c3c0f69d",
    ),
    "cora-ml": Benchmark(
        "machine-learning papers and their citations; class: field",
        "cora_ml",
        (UpstreamFile("cora_ml.npz", "https://github.com/abojchevski/graph2gauss/raw/master/data/cora_ml.npz", None),),
        "csr_npz",
        DRAWN,
        {"nodes": 2995, "edges": 8416, "clean_edges": 8416, "features": 2879, "classes": 7, "homophily": 0.792}
        | {"reciprocity": 0.061, "largest_component": 124, "sinks": 349, "isolated": 0, "splits": 10},
        "Bojchevski and Guennemann, Deep Gaussian Embedding of Graphs, ICLR 2018",
        "MIT (graph2gauss)",
        content="9ee04c09fe35623a7f8821c1b43af82a9b1e02dfceb3701e2506f29595175e9c",
        paper={"nodes": 2995, "edges": 8416, "features": 2879, "classes": 7, "homophily": 0.79},
        settings={"lr": 0.01, "weight_decay": 0.0, "layers": 2, "hidden": 64},
    ),
    "citeseer": Benchmark(
        "computer-science papers and their citations; class: field",
        "citeseer",
        (
            UpstreamFile(
                "citeseer.npz",
                "https://github.com/flyingtango/DiGCN/raw/main/code/data/citeseer/raw/citeseer.npz",
                "280278b21b434c047922e8389518861416fb3ad39389c27865ff0e6bbb0aaab7",
            ),
        ),
        "csr_npz",
        DRAWN,
        {"nodes": 3312, "edges": 4715, "clean_edges": 4591, "features": 3703, "classes": 6, "homophily": 0.739}
        | {"reciprocity": 0.024, "largest_component": 10, "sinks": 1429, "isolated": 48, "splits": 10},
        "Sen et al., Collective Classification in Network Data, 2008; file of Tong et al., DiGCN, NeurIPS 2020",
        "MIT (DiGCN)",
        content="02382660f1bcf8812cb1cfaaa7cc8fd5324776a25e78fc0b4a70b418896acc2f",
        paper={"nodes": 3312, "edges": 4715, "features": 3703, "classes": 6, "homophily": 0.74},
        settings={"lr": 0.01, "weight_decay": 0.0, "layers": 2, "hidden": 128},
        remarks=("not the 4,230-node citeseer of some loaders",),
    ),
    "am-photo": Benchmark(
        "photo products that are bought together; class: category",
        "amazon_photo",
        (
            UpstreamFile(
                "amazon_electronics_photo.npz",
                "https://github.com/shchur/gnn-benchmark/raw/master/data/npz/amazon_electronics_photo.npz",
                None,
            ),
        ),
        "csr_npz",
        DRAWN,
        {"nodes": 7650, "edges": 143663, "clean_edges": 143662, "features": 745, "classes": 8, "homophily": 0.831}
        | {"reciprocity": 0.342, "largest_component": 6105, "sinks": 198, "isolated": 115, "splits": 10},
        "Shchur et al., Pitfalls of Graph Neural Network Evaluation, 2018",
        "MIT (gnn-benchmark)",
        content="d46dd6ab539eb1651e7208bf4c5fc8f05ca8472f376e845509296846e8408dc3",
        paper={"nodes": 7650, "edges": 238162, "features": 745, "classes": 8, "homophily": 0.83},
        settings={"lr": 0.005, "weight_decay": 0.0, "layers": 2, "hidden": 512},
        remarks=("the paper's 238,162 edges are the clean ones of the symmetrised graph (--undirected)",),
    ),
    "snap-patents": Benchmark(
        "US utility patents and their citations; class: fifth of the year granted",
        "snap_patents",
        (
            UpstreamFile("snap_patents.mat", drive="1ldh23TSY1PwXia6dU0MYcpyEgX-w3Hia", limit=8 * GIB),
            UpstreamFile("snap-patents-splits.npy", drive="12xbBRqd8mtG_XkNLH8dRRNZJvVM4Pw-N", limit=256 * MIB),
        ),
        "linkx_mat",
        PUBLISHED_FIRST,
        {"nodes": 2923922, "edges": 13975791, "features": 269, "classes": 5, "splits": 5},
        LINKX_CITATION,
        "no licence stated upstream; patents from Leskovec et al., KDD 2005",
        paper={"nodes": 2923922, "edges": 13975791, "features": 269, "classes": 5, "homophily": 0.22},
        settings={"lr": 0.01, "weight_decay": 0.0, "layers": 2, "hidden": 32},
    ),
    "roman-empire": Benchmark(
        "words of an encyclopedia article and their order and syntax; class: syntactic role",
        "roman_empire",
        (UpstreamFile("roman_empire_directed.npz", drive="1atonwA1YqKMV3xWS7T04dRgfmDrsyRj8", limit=GIB),),
        "heterophilous",
        PUBLISHED_FIRST,
        {"nodes": 22662, "edges": 44363, "features": 300, "classes": 18, "isolated": 0, "splits": 10},
        f"{FILTERED_CITATION}; directed version of Rossi et al., Edge Directionality Improves Learning on "
        "Heterophilic Graphs, LoG 2023",
        "not stated for the directed file; the undirected one is MIT (heterophilous-graphs)",
        paper={"nodes": 22662, "edges": 44363, "features": 300, "classes": 18, "homophily": 0.05},
        settings={"lr": 0.01, "weight_decay": 5e-4, "layers": 2, "hidden": 64},
        remarks=("the public undirected file has each of 32,927 pairs once and cannot stand for the directed graph",),
    ),
    "arxiv-year": Benchmark(
        "computer-science papers on arXiv and their citations; class: fifth of the year",
        "arxiv",
        (
            UpstreamFile(
                "arxiv.zip",
                "https://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip",
                "49f85c801589ecdcc52cfaca99693aaea7b8af16a9ac3f41dd85a5f3193fe276",
                limit=512 * MIB,
            ),
            UpstreamFile(
                "arxiv-year-splits.npy",
                "https://github.com/CUAI/Non-Homophily-Large-Scale/raw/master/data/splits/arxiv-year-splits.npy",
                "a2d4c8b2ed621270642dcf4886c3f6e425da664b2d31c7a28fb11a6da763077a",
            ),
        ),
        "ogb",
        PUBLISHED_FIRST,
        {"nodes": 169343, "edges": 1166243, "clean_edges": 1166243, "features": 128, "classes": 5, "homophily": 0.222}
        | {"reciprocity": 0.014, "largest_component": 23164, "sinks": 17440, "isolated": 0, "splits": 5},
        f"Hu et al., Open Graph Benchmark, NeurIPS 2020; {LINKX_CITATION}",
        "ODC-BY (ogbn-arxiv)",
        paper={"nodes": 169343, "edges": 1166243, "features": 128, "classes": 40, "homophily": 0.22},
        settings={"lr": 0.01, "weight_decay": 5e-4, "layers": 2, "hidden": 64},
        remarks=("the paper's 40 classes are those of the subject; the task has 5",),
    ),
    "film": Benchmark(
        "actors that stand on one Wikipedia page, with words of their own pages; class: kind of actor",
        "film",
        _geom_gcn(
            "film",
            "997cdce67ea9c29257d3ffe796328391931901cf823830affa453178b60e2c3e",
            "1d5cdd094f8b91e770f6decfca85b35cf42f75d1efb51055fd6af16e11820ff8",
            (
                "4505a41d4e90abd94d1ec22571ce528b09ad7cf20d87f764aebd4177590767f5",
                "1871b0d24e3977c41e378fd24acc8025b63f86b77739be77a5b558d1287f207d",
                "d26680e911ef3ecc9fc2a26d90c9d35028c63aadd7a5aea774649d1496c282cb",
                "6755ad5f6a0be8594b344af3d2261eed935b83b73c4d70136e1a7beea7f78cb0",
                "328fdca62b25074f21f2922518e042f24b3b8a1fc378f9dfb2cae36439aed902",
                "5b3161a8dc8de4b2e651ebd56d68e768d1377044895b325566117fe26ab81cb7",
                "e251b38abd4d7931b5e9ae5aba99dcdf87f0be283bdf6e65421274a1c9ef1df6",
                "12164ef9f5620a2f12a387f4f2b8636859d42201101d6d32829ade62d5a98326",
                "405cd1f7f631f678119f8bf2405809e86614d532985beb59566fcf95abd35b3f",
                "505691c5d41bb37b20d085415dcdde2e8e68b5bc4e1feb2c0e361308002012bb",
            ),
        ),
        "geom_gcn",
        PUBLISHED_FIRST,
        {"nodes": 7600, "edges": 30019, "clean_edges": 29926, "features": 932, "classes": 5, "homophily": 0.216}
        | {"reciprocity": 0.218, "largest_component": 3807, "sinks": 643, "isolated": 0, "splits": 10},
        f"{GEOM_GCN_PAPER}; actors from Tang et al., Social Influence Analysis in Large-scale Networks, KDD 2009",
        "no licence stated upstream",
        content="df121882bc9c3bb22b0f2fbc1fdf4a6b1d892ab83bd1a1e6059048314d97089c",
        remarks=(
            "also called actor; 3,372 of the 33,391 lines of edges are repeats",
            "its header and the Geom-GCN paper state 931 features, but they are numbered from 0 to 931",
        ),
    ),
    "texas": Benchmark(
        "web pages of the computer science department and their links; class: kind of page",
        "texas",
        _geom_gcn(
            "texas",
            "0fe85183243a78cbee9b85a684f8240963d04d1020d10e9cd2b8cfb25e33b476",
            "cf5a3ca346cdd1210b8342e22517fcbbdae658065b7a3145f59350e50e6236a3",
            (
                "7ba77bf7a8856fcc0ab15623a611b8cdce994e820f577da914123fb4f45272b0",
                "21cc244a96e3c51ad7993afb4dd227f90e467d82b964bb42d7d9fc500a6ef87f",
                "b9e96a699ccf3a4c31ffbd03e52b25570889833425d20fa44e06c37b327cf61e",
                "1a7deeb1285009789d5e6045d7e39f7d019c9223d9a75a2b7ce5e26d33b51f63",
                "b5419ff3fe31adcae66fdb085d4f47d0b188e9436ab59f438632af969aafc674",
                "68405fd1b9ff6105d99717220ecbd198785e338bf4a73abee722bbc9703d2667",
                "8ad78b973164e70e5ac0d282e79adcbc6006e373909fbdfd72a13131e09040b8",
                "a84bcbf997365bddf5fdf72ed49dc7e435e475f8c6210f8cdee7c8581a2bd6df",
                "65ba65f296f91d40d2d7d3c9369b67415094a7e254c6eee48cd6d6531c586fdf",
                "4306981d654ad8835c000c1f73fb6c1e60dfe99e26c13a6073f3b0f4cc3ce6ee",
            ),
        ),
        "geom_gcn",
        PUBLISHED_OR_RANDOM,
        {"nodes": 183, "edges": 325, "clean_edges": 309, "features": 1703, "classes": 5, "homophily": 0.061}
        | {"reciprocity": 0.194, "largest_component": 7, "sinks": 78, "isolated": 0, "splits": 10},
        WEBKB_CITATION,
        "no licence stated upstream",
        content="a8796cf1741be108b558fb7d4b0ba09fb358d2ae8578d981e83a6f828e9d3737",
        remarks=(
            "class 1 has a single node; in 4 of the published splits it does not train, which is a warning",
            TINY.format(count=37),
        ),
    ),
    "wisconsin": Benchmark(
        "web pages of the computer science department and their links; class: kind of page",
        "wisconsin",
        _geom_gcn(
            "wisconsin",
            "ebd213511c88fce1eda450c2f920600c4b8cbb38f02384856bcc47c6ec1807ae",
            "a32b0aa38d42f0d36841e8a8cb646d197f0ff33a182ac75a2b4476aeed3c7e4b",
            (
                "f66f641e191d35d491cd3b63d6c2cd93c4b436da398984b44c19a8d4d7e7b1a5",
                "534aeb97266bd5a85a8587adf8eebad3f2e001c1240610f24b62c0ad0c2466ee",
                "047a5b641778ec3a4c76055fd7f18ecb2424c0952f20dfff7e1b17749d8acbdd",
                "706c27b4c51d046c0316f1e915f093e4a1fff48b3436b3e7c421eab596a99e77",
                "7ee813605eec086457aaff022cf3837f2f893fcf8bd37e3a8d2ff0c80e4c4f87",
                "8094ac2bdaf2cbea8f7a48df66a0800c809b2fd5942740e6b0441b660d3a0dd5",
                "c423a8deea9b18f9ecb6cfd703578e2159df167de01fe7e6195b88995010252d",
                "57ad808c8d4dd94dc4404124370bbcebb3dcc597c2bea6457bf05f220adf1527",
                "27d4d62a2a6aea2cdc399302237512ab0d64fb0c84e648112f97c5896274e42f",
                "3c149cd124a19021031609e0d7743a7be59aae4f88c8d38410138e8f06f5daaf",
            ),
        ),
        "geom_gcn",
        PUBLISHED_OR_RANDOM,
        {"nodes": 251, "edges": 515, "clean_edges": 499, "features": 1703, "classes": 5, "homophily": 0.170}
        | {"reciprocity": 0.196, "largest_component": 14, "sinks": 85, "isolated": 0, "splits": 10},
        WEBKB_CITATION,
        "no licence stated upstream",
        content="631dbfd7347b47cae95e857ef828a6b735df2eaedcc3c84bee1575c6a204d606",
        remarks=(TINY.format(count=51),),
    ),
    "cornell": Benchmark(
        "web pages of the computer science department and their links; class: kind of page",
        "cornell",
        (
            *(
                UpstreamFile(file, f"{CORNELL_COPY}/{file}", None)
                for file in ("out1_graph_edges.txt", "out1_node_feature_label.txt")
            ),
            UpstreamFile("cornell_yandex.npz", f"{HETEROPHILOUS}/cornell.npz", None),
        ),
        "geom_gcn",
        PUBLISHED_OR_RANDOM,
        {"nodes": 183, "edges": 298, "clean_edges": 295, "features": 1703, "classes": 5, "homophily": 0.122}
        | {"reciprocity": 0.122, "largest_component": 5, "sinks": 88, "isolated": 0, "splits": 10},
        f"{WEBKB_CITATION}; splits from {FILTERED_CITATION}",
        "no licence stated upstream; the file of the splits is MIT (heterophilous-graphs)",
        content="9fe291a0191905357cc5236281196e848d0dca878974a12b40730adde7601dcf",
        remarks=(
            "geom-gcn has the nodes of texas in place of cornell's at the commit of the others: these are from a copy",
            "features, labels and splits are those of the heterophilous graphs' cornell.npz, which has no directions",
            TINY.format(count=37),
        ),
    ),
    "cora": Benchmark(
        "machine-learning papers and their citations, with words of their own; class: field",
        "cora",
        (UpstreamFile("cora.npz", "https://github.com/shchur/gnn-benchmark/raw/master/data/npz/cora.npz", None),),
        "csr_npz",
        DRAWN,
        {"nodes": 2708, "edges": 5429, "clean_edges": 5429, "features": 1433, "classes": 7, "homophily": 0.814}
        | {"reciprocity": 0.056, "largest_component": 13, "sinks": 1143, "isolated": 0, "splits": 10},
        "Sen et al., Collective Classification in Network Data, 2008; file of Shchur et al., Pitfalls of Graph Neural "
        "Network Evaluation, 2018",
        "MIT (gnn-benchmark)",
        content="08ea2d568e243cf9f2404c939cdac3c3432c84a63f52478a2ff958fe7a353295",
        remarks=("its citations have directions; most loaders symmetrise them (--undirected)",),
    ),
}
